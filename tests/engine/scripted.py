"""Drafters that know the answer, to bring the engine into every situation on purpose.

They stand in for a model only; target, loop, sampling and memory are the real ones.
"""

import random

from localspec.batch import Batch
from localspec.engine.drafters.base import Draft
from localspec.engine.sequence import Sequence


class ScriptedDrafter:
    """Proposes the next tokens of a known text, wrong ones with a given probability.

    Args:
        texts: prompt -> prompt and answer, as token ids.
        hit_rate: probability that a proposal is right; 1.0 is an oracle, 0.0 always wrong.
        burst: proposals a call adds, like a drafter of blocks.
    """

    kind = "scripted"
    relative_cost = 0.0
    at_once = False
    reads_states = False

    def __init__(
        self, texts: dict[tuple[int, ...], list[int]], hit_rate: float, burst: int = 1
    ) -> None:
        self._texts = texts
        self._hit_rate = hit_rate
        self._burst = burst
        self._random = random.Random(7)
        self.accepted: list[int] = []

    def begin(self, sequence: Sequence) -> None:
        return None

    def n_behind(self, sequence: Sequence) -> int:
        return 0

    def process(self, batch: Batch) -> None:
        """Nothing: it reads the text alone."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        for d in drafts:
            text = self._texts[tuple(d.sequence.tokens[: d.sequence.n_prompt])]
            for _ in range(min(self._burst, d.limit - len(d.tokens))):
                position = len(d.sequence.tokens) + len(d.tokens)
                right = text[position] if position < len(text) else 0
                hit = self._random.random() < self._hit_rate
                d.propose(right if hit else (right + 1) % 256, self._hit_rate)
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        if draft.tokens:
            self.accepted.append(n_accepted)

    def end(self, sequence: Sequence) -> None:
        return None
