"""Opens real llama.cpp models for the engine's tests and runs sequences on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import Drafter
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import NumericsPlan, plan_numerics
from localspec.params import SamplingParams, Threads

_F32, _OFF = 0, 0  # enum ggml_type, enum llama_flash_attn_type

NO_END: frozenset[int] = frozenset()
"""Random weights would end an answer at random; these tests want all of it."""


@contextmanager
def opened(
    path: Path,
    *,
    n_ctx: int = 1024,
    n_seq_max: int = 1,
    n_batch: int = 64,
    copies: bool = False,
) -> Iterator[LlamaContext]:
    """A context on a tiny model, wide enough for any draft; `copies` as in `memory.plan_memory`."""
    with (
        LlamaModel(path, use_extra_bufts=False) as model,
        opening(model, n_ctx=n_ctx, n_seq_max=n_seq_max, n_batch=n_batch, copies=copies) as context,
    ):
        yield context


def opening(
    model: LlamaModel,
    *,
    n_ctx: int = 1024,
    n_seq_max: int = 1,
    n_batch: int = 64,
    copies: bool = False,
) -> LlamaContext:
    """The same on a model that is open."""
    return LlamaContext(
        model, settings(model, n_ctx=n_ctx, n_seq_max=n_seq_max, n_batch=n_batch, copies=copies)
    )


def settings(
    model: LlamaModel,
    *,
    n_ctx: int = 1024,
    n_seq_max: int = 1,
    n_batch: int = 64,
    copies: bool = False,
) -> ContextSettings:
    """How such a context is opened."""
    numerics = _numerics(calm=n_seq_max > 1 or model.keeps_state)
    n_outputs = 10 * n_seq_max
    return ContextSettings(n_ctx, n_seq_max, n_batch, n_outputs, Threads(1, 1), numerics, 8, copies)


def _numerics(*, calm: bool) -> NumericsPlan:
    """Exact ones; `calm` where the last bit of a row may differ for other reasons all the same."""
    plan = plan_numerics("exact", frozenset({"F32"}))
    if calm:
        # Sequences side by side share a pool of cells, in which one may find its own cells in
        # another order than alone. Sums in another order differ in their last bit; with 16-bit
        # cells that bit is blown up a thousandfold, with these it stays where it is. Recurrent
        # state, which cannot be filled up to two rows, has other sums for one row than for several.
        plan = replace(plan, type_k=_F32, type_v=_F32, flash_attn=_OFF)
    return plan


def generate(
    target: LlamaContext,
    drafter: Drafter | None,
    prompts: list[list[int]],
    params: SamplingParams,
    *,
    depth: int = 0,
    lengths: list[int],
    ends: frozenset[int] = NO_END,
) -> list[Sequence]:
    """Run all prompts at once, each to its own length, and return the finished sequences."""
    for seq_id in range(target.n_seq_max):
        target.memory.drop(seq_id)
    engine = Engine(target, [drafter] if drafter else [], FixedDepth(depth), ends)
    sampler = Sampler(params)
    sequences = [
        engine.open(prompt, sampler, n) for prompt, n in zip(prompts, lengths, strict=True)
    ]
    while engine.active:
        engine.step()
    for sequence in sequences:
        engine.close(sequence)
    return sequences


def prompts(n: int) -> list[list[int]]:
    """Prompts of different lengths, as bytes."""
    texts = (
        "The quick brown fox jumps over the lazy dog.",
        "def merge(a, b):",
        "Once upon a time, in a land far away, there lived a lighthouse keeper who " * 2,
        "x",
        '{"name": "Ada", "born": 1815, "name": "Grace", "born": 1906}',
    )
    return [list(text.encode()) for text in texts[:n]]
