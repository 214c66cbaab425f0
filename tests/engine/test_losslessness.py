"""The first promise: the text with speculation is the text without it.

Every drafter here meets every memory kind here, at temperature 0 and 1, at depth 1 to 8, alone and
with ragged neighbours, fully, partly and never accepted. All models are real F32 models run by
the real llama.cpp; the acceptance that a row of the table claims is asserted too.
"""

from functools import cache
from pathlib import Path

import pytest

from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.params import SamplingParams
from tests.engine.running import generate, opened, prompts
from tests.engine.scripted import ScriptedDrafter
from tests.tiny import TinyModels, Variant

ATTENTION = ("llama", "qwen2", "qwen3", "gemma3", "gemma4")
"""Full attention, and sliding windows of 32 tokens (gemma3, gemma4)."""

STATES = ("qwen35", "lfm2", "falcon-h1", "mamba")
"""Recurrent and hybrid: the first two keep the states of the last tokens, the others a copy."""

TARGETS = ATTENTION + STATES

ATTENTION_ONLY = "ffn_gate"
"""Silenced in the gemmas where sequences run side by side: llama.cpp looks their GELU up in a 16-bit
table, which turns a difference in the last bit (see `running.py`) into one that can flip a token."""

NEAR = {
    "llama": 0.05,
    "qwen2": 0.05,
    "qwen3": 0.05,
    "gemma3": 0.15,
    "gemma4": 0.03,
    "qwen35": 0.005,
    "lfm2": 0.003,
    "falcon-h1": 0.03,
    "mamba": 0.02,
}
"""Noise that makes a copy of the weights agree most of the time, but not always."""

GREEDY = SamplingParams(temperature=0.0)
SAMPLED = SamplingParams(temperature=1.0, top_k=40, top_p=0.95, min_p=0.0, seed=11)
PENALISED = SamplingParams(
    temperature=0.7,
    top_k=0,
    repeat_penalty=1.1,
    presence_penalty=0.3,
    frequency_penalty=0.1,
    seed=3,
)
PARAMS = {"greedy": GREEDY, "sampled": SAMPLED, "penalised": PENALISED}


CELLS = [
    (target, name, n_sequences)
    for target in TARGETS
    for name in PARAMS
    for n_sequences in (1, 2, 5)
    if target in ATTENTION or (name != "penalised" and n_sequences < 5)
]
"""Every target under every way of sampling, alone and beside others; how tokens are picked has nothing to
do with the kind of memory, so the slow kinds meet fewer."""


def variant(target: str, n_sequences: int, eps: float = 0.0) -> Variant:
    """The weights of a target, or of a copy that almost agrees with it."""
    silenced = ATTENTION_ONLY if target.startswith("gemma") and n_sequences > 1 else ""
    return Variant(eps=eps, silenced=silenced)


@cache
def plain_texts(path: Path, name: str, n_sequences: int) -> list[list[int]]:
    """What the target writes alone, sequence by sequence."""
    lengths = lengths_of(n_sequences)
    with opened(path, n_seq_max=n_sequences) as target:
        return [
            generate(target, None, [prompt], PARAMS[name], lengths=[n])[0].tokens
            for prompt, n in zip(prompts(n_sequences), lengths, strict=True)
        ]


def lengths_of(n_sequences: int) -> list[int]:
    """At least 200 tokens each, and all different, so that sequences leave one by one."""
    return [200 + 13 * i for i in range(n_sequences)]


def rate(sequences: list) -> float:
    tested = sum(s.stats.tested for s in sequences)
    return sum(s.stats.accepted for s in sequences) / max(tested, 1)


def check(path: Path, drafter: Drafter, name: str, depth: int, n_sequences: int) -> float:
    """Compare with plain decoding; returns the acceptance rate that was reached."""
    expected = plain_texts(path, name, n_sequences)
    with opened(path, n_seq_max=n_sequences) as target:
        found = generate(
            target,
            drafter,
            prompts(n_sequences),
            PARAMS[name],
            depth=depth,
            lengths=lengths_of(n_sequences),
        )
    for sequence, text in zip(found, expected, strict=True):
        assert sequence.tokens == text
        assert sequence.finish == "length"
    return rate(found)


@pytest.mark.parametrize(("target", "name", "n_sequences"), CELLS)
@pytest.mark.parametrize("depth", range(1, 9))
def test_draft_model(
    tiny: TinyModels, target: str, depth: int, name: str, n_sequences: int
) -> None:
    """A near copy drafts, so some drafts are kept whole, some in part, some not at all."""
    path = tiny(target, variant(target, n_sequences))
    drafter_path = tiny(target, variant(target, n_sequences, NEAR[target]))
    with opened(drafter_path, n_seq_max=n_sequences) as model:
        reached = check(path, DraftModel(model, model.n_vocab), name, depth, n_sequences)
    assert 0.05 < reached < 1.0, reached


@pytest.mark.parametrize(("target", "name", "n_sequences"), CELLS)
def test_draft_model_that_always_agrees(
    tiny: TinyModels, target: str, name: str, n_sequences: int
) -> None:
    """The same weights draft with the same noise: every proposal must be accepted."""
    path = tiny(target, variant(target, n_sequences))
    with opened(path, n_seq_max=n_sequences) as model:
        assert check(path, DraftModel(model, model.n_vocab), name, 4, n_sequences) > 0.99


@pytest.mark.parametrize(("target", "name", "n_sequences"), CELLS)
@pytest.mark.parametrize("depth", [1, 4, 8])
def test_lookup(tiny: TinyModels, target: str, depth: int, name: str, n_sequences: int) -> None:
    """Drafts from the sequence's own text, of whatever quality."""
    check(tiny(target, variant(target, n_sequences)), LookupDrafter(), name, depth, n_sequences)


@pytest.mark.parametrize(("target", "name", "n_sequences"), CELLS)
@pytest.mark.parametrize("hit_rate", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_scripted(
    tiny: TinyModels, target: str, depth: int, hit_rate: float, name: str, n_sequences: int
) -> None:
    """Always wrong, mixed, always right: the acceptance is what the script says."""
    path = tiny(target, variant(target, n_sequences))
    expected = plain_texts(path, name, n_sequences)
    texts = {
        tuple(prompt): text for prompt, text in zip(prompts(n_sequences), expected, strict=True)
    }
    reached = check(path, ScriptedDrafter(texts, hit_rate, burst=3), name, depth, n_sequences)
    assert reached == pytest.approx(hit_rate, abs=0.15 if 0 < hit_rate < 1 else 0)
