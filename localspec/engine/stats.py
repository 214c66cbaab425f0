"""Counters of one answer and the figures made of them. Nothing here was not measured."""

from collections import deque
from dataclasses import dataclass, field
from statistics import median

_RECENT_SECONDS = 3.0
_PLAIN_ROUNDS_NEEDED = 3


@dataclass(slots=True)
class SequenceStats:
    """What happened to one sequence; times are seconds of wall clock in this process.

    Attributes:
        rounds: verify passes of the decode phase, plain ones included.
        n_decoded: tokens made in the decode phase (the first token comes out of the prefill).
        drafted: tokens proposed.
        tested: proposals compared with the target's pick; none after the first rejection.
        accepted: proposals kept.
        accepted_per_position: entry i counts drafts whose token i was kept.
        prefill_s: time of the passes that read the prompt.
        decode_s: time of the rounds, drafting included.
        plain_s: times of the rounds that had no draft at all.
    """

    rounds: int = 0
    n_decoded: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    accepted_per_position: list[int] = field(default_factory=list)
    prefill_s: float = 0.0
    decode_s: float = 0.0
    plain_s: list[float] = field(default_factory=list)
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def add_round(self, n_tokens: int, n_drafted: int, n_tested: int, n_accepted: int) -> None:
        """Count one settled round."""
        self.rounds += 1
        self.n_decoded += n_tokens
        self.drafted += n_drafted
        self.tested += n_tested
        self.accepted += n_accepted
        grown = n_accepted - len(self.accepted_per_position)
        self.accepted_per_position += [0] * grown
        for i in range(n_accepted):
            self.accepted_per_position[i] += 1

    def add_time(self, seconds: float, n_tokens: int, *, plain: bool) -> None:
        """Note how long a round took that made `n_tokens`; `plain` rounds set the baseline."""
        self.decode_s += seconds
        if plain:
            self.plain_s.append(seconds)
        self._recent.append((seconds, n_tokens))
        total = sum(s for s, _ in self._recent)
        while len(self._recent) > 1 and total - self._recent[0][0] > _RECENT_SECONDS:
            total -= self._recent.popleft()[0]

    @property
    def acceptance_rate(self) -> float | None:
        """accepted / tested, None before the first test."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_round(self) -> float | None:
        """Tokens of the decode phase per verify pass, None before the first."""
        return self.n_decoded / self.rounds if self.rounds else None

    @property
    def tokens_per_s(self) -> float | None:
        """Rate of the decode phase, None before the first round."""
        return self.n_decoded / self.decode_s if self.decode_s else None

    @property
    def recent_tokens_per_s(self) -> float | None:
        """Rate over the last seconds, None before the first round."""
        total = sum(s for s, _ in self._recent)
        return sum(n for _, n in self._recent) / total if total else None

    @property
    def plain_tokens_per_s(self) -> float | None:
        """Rate of plain decoding from plain rounds of this answer (median), None until a few ran."""
        if len(self.plain_s) < _PLAIN_ROUNDS_NEEDED:
            return None
        return 1.0 / median(self.plain_s)

    @property
    def times_plain(self) -> float | None:
        """Rate of this answer / rate of its plain rounds; None while either is unknown, and where
        nothing was drafted: then there is nothing to compare.

        Plain rounds count with their median on both sides, so that a stall in one of them is no gain
        or loss of drafting.
        """
        if not self.drafted or len(self.plain_s) < _PLAIN_ROUNDS_NEEDED:
            return None
        plain = median(self.plain_s)
        seconds = self.decode_s - sum(self.plain_s) + len(self.plain_s) * plain
        return self.n_decoded * plain / seconds
