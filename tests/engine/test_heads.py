"""Heads that read the target's state: equal text in every situation, and drafts as if made afresh."""

from functools import cache
from pathlib import Path

import pytest

from localspec.engine.depth import FixedDepth, NoDraft
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.params import SamplingParams
from tests.engine.heads import Headed, drafted_afresh, headed, states_of
from tests.engine.running import NO_END, generate, opened, prompts
from tests.engine.test_losslessness import ATTENTION_ONLY
from tests.tiny import TinyModels, Variant

Drafts = list[tuple[list[int], list[int]]]
"""What was drafted after which text."""

GREEDY = SamplingParams(temperature=0.0)
SAMPLED = SamplingParams(temperature=1.0, top_k=40, top_p=0.95, min_p=0.0, seed=11)
PARAMS = {"greedy": GREEDY, "sampled": SAMPLED}

QWEN3 = ("qwen3", None)
WITH_LAYERS = {
    "llama": ("llama", (0, 1, 1)),
    "gemma4": ("gemma4", (0, 2, 4)),
    "qwen35": ("qwen35-without-mtp", (0, 1, 1)),
    "lfm2": ("lfm2", (0, 1, 3)),
}
"""Other targets that show their layers -> their file, and the layers that are read."""

HEADS: dict[str, tuple[str, tuple[int, int, int] | None, str | None]] = {
    "mtp in the file": ("qwen35", None, None),
    "mtp beside it": ("qwen35", None, "qwen35-mtp"),
    "gemma4-assistant": ("gemma4", None, "gemma4-assistant"),
    "chained heads, windowed": ("step35", None, None),
    "chained heads, sinks": ("mimo2", None, None),
    "chained heads, full": ("hy_v3", None, None),
    "DFlash 2": (*QWEN3, "dflash2"),
    **{
        f"{drafter}, {name}": (*target, drafter.lower().replace("-", ""))
        for drafter in ("EAGLE-3", "DFlash", "DSpark")
        for name, target in {"qwen3": QWEN3, **WITH_LAYERS}.items()
    },
}
"""Drafter -> target, the layers that it reads, and the file of the head."""

LASTING = ["mtp in the file", "EAGLE-3, qwen3", "DFlash, qwen3", "chained heads, windowed"]
"""One of each kind with a memory of its own."""

AGREEING = {"always": 0.0, "mixed": 0.06, "never": None}
"""How often a head is right -> see `Variant.agreeing`."""

REACHED = {"always": (0.99, 1.0), "mixed": (0.1, 0.99), "never": (0.0, 0.1)}
"""Acceptance that must come out."""


def files(tiny: TinyModels, name: str, how: str, n_sequences: int = 1) -> tuple[Path, Path | None]:
    target, layers, sidecar = HEADS[name]
    silenced = ATTENTION_ONLY if target == "gemma4" and n_sequences > 1 else ""
    variant = Variant(agreeing=AGREEING[how], silenced=silenced, layers=layers)
    return tiny(target, variant), None if sidecar is None else tiny(sidecar, variant)


@cache
def plain(path: Path, params: SamplingParams, n: int) -> list[list[int]]:
    """What the target writes alone, text by text."""
    with opened(path, n_seq_max=n) as target:
        return [
            generate(target, None, [prompt], params, lengths=[200 + 13 * i])[0].tokens
            for i, prompt in enumerate(prompts(n))
        ]


@pytest.mark.parametrize("n_sequences", [1, 3])
@pytest.mark.parametrize("how", AGREEING)
@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("name", HEADS)
def test_equal_text(
    tiny: TinyModels, name: str, depth: int, params: str, how: str, n_sequences: int
) -> None:
    path, sidecar = files(tiny, name, how, n_sequences)
    expected = plain(path, PARAMS[params], n_sequences)
    with headed(path, sidecar, n_sequences) as pair:
        found = generate(
            pair.target,
            pair.drafter,
            prompts(n_sequences),
            PARAMS[params],
            depth=depth,
            lengths=[200 + 13 * i for i in range(n_sequences)],
        )
    assert [s.tokens for s in found] == expected
    accepted = sum(s.stats.accepted for s in found) / sum(s.stats.tested for s in found)
    least, most = REACHED[how]
    assert least <= accepted <= most, accepted


def drafts_of(pair: Headed, text: list[int], n: int, pause: range) -> Drafts:
    """Write `n` tokens after a text, without drafts for a while, and return what was drafted where."""
    engine = Engine(pair.target, [pair.drafter], FixedDepth(3), NO_END)
    sequence = engine.open(text, Sampler(GREEDY), n)
    found: Drafts = []
    while sequence.finish is None:
        engine.depth = NoDraft() if sequence.n_generated in pause else FixedDepth(3)
        before = list(sequence.tokens)
        for done in engine.step():
            if done.draft.tokens:
                found.append((before, list(done.draft.tokens)))
    engine.close(sequence)
    return found


def check_afresh(path: Path, sidecar: Path | None, drafts: Drafts) -> None:
    assert len(drafts) > 5
    with headed(path, sidecar) as fresh:
        for text, draft in [*drafts[:2], *drafts[2:-2:5], *drafts[-2:]]:
            states = states_of(fresh, text[:-1])
            assert drafted_afresh(fresh.head, text, states, len(draft)) == draft


@pytest.mark.parametrize("how", ["mixed", "never"])
@pytest.mark.parametrize("name", [name for name in HEADS if name != "gemma4-assistant"])
def test_drafts_are_those_of_a_head_that_starts_afresh(
    tiny: TinyModels, name: str, how: str
) -> None:
    """Nothing of refused drafts is left, no state is lost or shifted, and pauses do no harm."""
    path, sidecar = files(tiny, name, how)
    with headed(path, sidecar) as pair:
        drafts = drafts_of(pair, prompts(3)[2], 60, range(20, 40))
    check_afresh(path, sidecar, drafts)


@pytest.mark.parametrize("name", LASTING)
def test_states_that_wait_too_long_are_read_before(
    tiny: TinyModels, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A long prompt and a long pause lose no state. (Random weights: each draft depends on all of the text.)"""
    monkeypatch.setattr("localspec.engine.drafters.follower._MOST_WAITING", 30)
    path, sidecar = files(tiny, name, "never")
    with headed(path, sidecar) as pair:
        drafts = drafts_of(pair, prompts(3)[2] * 3, 160, range(20, 140))
    check_afresh(path, sidecar, drafts)


@pytest.mark.parametrize("name", LASTING)
def test_a_text_that_goes_on_keeps_what_was_read(tiny: TinyModels, name: str) -> None:
    """The next turn of a chat: nothing of it is read twice, and drafts are as good as afresh."""
    path, sidecar = files(tiny, name, "never")
    with headed(path, sidecar) as pair:
        first = drafts_of(pair, prompts(3)[2], 40, range(0))
        text = first[-1][0]
        drafts = drafts_of(pair, [*text, *prompts(2)[1]], 40, range(0))
    check_afresh(path, sidecar, drafts)
