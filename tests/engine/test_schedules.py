"""Texts that come and go at random: opened, stopped, cut, begun again from a part of another, with drafts of
every kind and policies that change meanwhile. Each must be what the target writes alone."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.margin import MarginDepth
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.params import SamplingParams
from tests.engine.heads import Headed, headed
from tests.engine.running import NO_END, generate, opened
from tests.engine.test_heads import GREEDY, HEADS, SAMPLED, files
from tests.engine.test_losslessness import variant
from tests.tiny import TinyModels

WITHOUT_HEAD = ("llama", "gemma3", "lfm2", "falcon-h1", "mamba")
STEPS = 120


@dataclass(slots=True)
class Written:
    """A prompt, how it was sampled, and its sequence."""

    prompt: list[int]
    params: SamplingParams
    sequence: Sequence
    tokens: list[int]


class Schedule:
    """One random course of events."""

    def __init__(self, seed: int, engine: Engine, n_seq_max: int) -> None:
        self.dice = random.Random(seed)
        self.engine = engine
        self.n_seq_max = n_seq_max
        self.base = [self.dice.randrange(256) for _ in range(self.dice.choice([1, 2, 60, 150]))]
        self.written: list[Written] = []
        self.running: list[Written] = []

    def run(self) -> list[Written]:
        for _ in range(STEPS):
            if len(self.running) < self.n_seq_max and self.dice.random() < 0.3:
                self._open()
            if self.engine.active:
                self.engine.step()
            for text in list(self.running):
                if text.sequence.finish or self.dice.random() < 0.03:
                    self._close(text)
            if self.dice.random() < 0.02:
                self.engine.forget()
            if self.dice.random() < 0.04:
                self.engine.depth = self._policy()
        for text in list(self.running):
            self._close(text)
        return self.written

    def _policy(self) -> DepthPolicy:
        depth = self.dice.randint(1, 8)
        return self.dice.choice(
            [FixedDepth(depth), NoDraft(), MarginDepth(8), ThresholdDepth(depth, 0.5)]
        )

    def _open(self) -> None:
        prompt = self.base[: self.dice.randint(1, len(self.base))]
        if self.written and self.dice.random() < 0.6:
            last = self.written[-1].tokens or self.written[-1].prompt
            prompt = (last[: self.dice.randint(1, len(last))] + prompt)[:500]
        params = self.dice.choice([GREEDY, SAMPLED])
        sequence = self.engine.open(prompt, Sampler(params), self.dice.randint(1, 60))
        self.running.append(Written(list(prompt), params, sequence, []))
        self.written.append(self.running[-1])

    def _close(self, text: Written) -> None:
        s = text.sequence
        text.tokens = list(s.tokens)
        n_keep = None
        if self.dice.random() < 0.4 and s.n_generated:
            n_keep = self.dice.randint(s.n_prompt, len(s.tokens))
        self.engine.close(s, n_keep)
        self.running.remove(text)


def check(path: Path, written: list[Written], n_seq_max: int) -> None:
    assert len(written) > 2
    with opened(path, n_seq_max=n_seq_max) as target:
        for text in written:
            n = len(text.tokens) - len(text.prompt)
            if n:
                (alone,) = generate(target, None, [text.prompt], text.params, lengths=[n])
                assert alone.tokens == text.tokens


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_seq_max", [1, 3])
@pytest.mark.parametrize("name", HEADS)
def test_with_a_head(tiny: TinyModels, name: str, n_seq_max: int, seed: int) -> None:
    how = ("always", "mixed", "never")[seed % 3]
    path, sidecar = files(tiny, name, how, n_seq_max)
    with headed(path, sidecar, n_seq_max) as pair:
        written = Schedule(seed, _engine(pair, look_up=seed == 1), n_seq_max).run()
    check(path, written, n_seq_max)


def _engine(pair: Headed, *, look_up: bool) -> Engine:
    drafters = [LookupDrafter(), pair.drafter] if look_up else [pair.drafter]
    return Engine(pair.target, drafters, FixedDepth(4), NO_END)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_seq_max", [1, 3])
@pytest.mark.parametrize("name", WITHOUT_HEAD)
def test_with_look_up(tiny: TinyModels, name: str, n_seq_max: int, seed: int) -> None:
    path = tiny(name, variant(name, n_seq_max))
    with opened(path, n_seq_max=n_seq_max) as target:
        engine = Engine(target, [LookupDrafter()], FixedDepth(4), NO_END)
        written = Schedule(seed, engine, n_seq_max).run()
    check(path, written, n_seq_max)
