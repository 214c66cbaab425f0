"""Branching drafts: equal text in every situation, and what a branch brings when it is right."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.llama.context import LlamaContext
from localspec.llama.model import LlamaModel
from localspec.params import SamplingParams
from tests.engine.branching import AlwaysBranching
from tests.engine.running import NO_END, opened, prompts, settings
from tests.engine.test_losslessness import PARAMS, plain_texts
from tests.tiny import TinyModels, Variant

TARGETS = ("llama", "qwen2", "qwen3")
"""Plain caches; the other kinds of memory do not branch."""

DRAFTERS = {"always": Variant(), "mixed": Variant(eps=0.1), "never": Variant(seed=77)}


@dataclass(slots=True)
class Branched:
    """What became of the branches of some answers."""

    sequences: list[Sequence]
    n_branches: int = 0
    n_hits: int = 0


@contextmanager
def branching(path: Path, n_seq_max: int = 1, n_ctx: int = 1024) -> Iterator[LlamaContext]:
    with ExitStack() as stack:
        model = stack.enter_context(LlamaModel(path, use_extra_bufts=False))
        how = replace(settings(model, n_ctx=n_ctx, n_seq_max=n_seq_max), branches=True)
        context = stack.enter_context(LlamaContext(model, how))
        yield context


def generate(
    target: LlamaContext,
    drafter: LlamaContext,
    texts: list[list[int]],
    params: SamplingParams,
    depth: int,
    lengths: list[int],
    ends: frozenset[int] = NO_END,
) -> Branched:
    engine = Engine(target, [DraftModel(drafter, drafter.n_vocab)], AlwaysBranching(depth), ends)
    opened_ = [
        engine.open(text, Sampler(params), n) for text, n in zip(texts, lengths, strict=True)
    ]
    found = Branched(opened_)
    while engine.active:
        for done in engine.step():
            found.n_branches += done.draft.branch is not None
            found.n_hits += done.draft.hit
            if done.draft.hit:
                assert len(done.tokens) == done.n_accepted + 2
    for sequence in opened_:
        engine.close(sequence)
    return found


@pytest.mark.parametrize("n_sequences", [1, 2])
@pytest.mark.parametrize("how", DRAFTERS)
@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("name", ["greedy", "sampled"])
@pytest.mark.parametrize("target_name", TARGETS)
def test_equal_text(
    tiny: TinyModels, target_name: str, name: str, depth: int, how: str, n_sequences: int
) -> None:
    path = tiny(target_name)
    expected = plain_texts(path, name, n_sequences)
    lengths = [len(text) - len(p) for text, p in zip(expected, prompts(5), strict=False)]
    with (
        branching(path, n_sequences) as target,
        opened(tiny(target_name, DRAFTERS[how]), n_seq_max=n_sequences) as drafter,
    ):
        found = generate(target, drafter, prompts(n_sequences), PARAMS[name], depth, lengths)
    assert [s.tokens for s in found.sequences] == expected
    assert found.n_branches > 20
    assert (found.n_hits > 0) is (how == "mixed") or how == "never"


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_length_is_kept_to_the_token(tiny: TinyModels, n: int) -> None:
    path = tiny("llama")
    with branching(path) as target, opened(tiny("llama", DRAFTERS["mixed"])) as drafter:
        found = generate(target, drafter, prompts(1), PARAMS["greedy"], 4, [n])
    (sequence,) = found.sequences
    assert (sequence.n_generated, sequence.finish) == (n, "length")
    assert sequence.tokens == plain_texts(path, "greedy", 1)[0][: sequence.n_prompt + n]


def test_nothing_follows_an_end_token(tiny: TinyModels) -> None:
    """Also where a branch had it, or the token after a branch is one."""
    path = tiny("llama")
    (text,) = plain_texts(path, "greedy", 1)
    n_prompt = len(prompts(1)[0])
    for end in sorted({*text[n_prompt:]}):
        first = text.index(end, n_prompt)
        with branching(path) as target, opened(tiny("llama", DRAFTERS["mixed"])) as drafter:
            found = generate(
                target, drafter, prompts(1), PARAMS["greedy"], 2, [200], frozenset({end})
            )
        assert found.sequences[0].tokens == text[: first + 1]
        assert found.sequences[0].finish == "stop"


def test_a_full_context_ends_the_answer(tiny: TinyModels) -> None:
    path, n_ctx = tiny("llama"), 80
    (text,) = plain_texts(path, "greedy", 1)
    with (
        branching(path, n_ctx=n_ctx) as target,
        opened(tiny("llama", DRAFTERS["mixed"])) as drafter,
    ):
        found = generate(target, drafter, prompts(1), PARAMS["greedy"], 3, [200])
    assert found.sequences[0].tokens == text[:n_ctx]
    assert found.sequences[0].finish == "context"


@pytest.mark.parametrize("name", ["gemma3", "qwen35", "mamba"])
def test_other_memories_do_not_branch(tiny: TinyModels, name: str) -> None:
    with branching(tiny(name)) as target:
        assert not target.branches


def test_a_branch_that_is_right_saves_rounds(tiny: TinyModels) -> None:
    path = tiny("llama")
    with (
        branching(path) as target,
        opened(path) as plain_target,
        opened(tiny("llama", DRAFTERS["mixed"])) as drafter,
    ):
        with_branches = generate(target, drafter, prompts(1), PARAMS["greedy"], 2, [200])
        drafter.memory.drop(0)
        without = generate(plain_target, drafter, prompts(1), PARAMS["greedy"], 2, [200])
    assert without.n_branches == 0
    assert with_branches.sequences[0].stats.rounds < without.sequences[0].stats.rounds
