"""Proposes what followed when the text's own end last occurred in it; needs no model.

The longest match wins and among equals the most recent, whatever its length (`suffix.py`). How
far such a match can be trusted is learned from the target's verdicts. Sees the sequence's tokens
only; the drafts go to the loop, which has the target verify them.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

from localspec.engine.drafters.base import Draft
from localspec.engine.sequence import Sequence
from localspec.engine.suffix import SuffixIndex

_LONGEST = (1, 2, 3, 5, 8, 16)
"""The longest match of each bucket; one bucket more holds all that are longer."""

_PRIOR = (0.25, 0.45, 0.60, 0.75, 0.85, 0.90, 0.95)
"""Acceptance of each bucket before any verdict: five prompts (two on code to edit or test), 260
tokens each, greedy, Qwen2.5-Coder 0.5B Q4_K_M; 1,013 tests."""

_PRIOR_TESTS = 8
_MEMORY_TESTS = 128
"""A verdict weighs 1/n after n tests, and never less than this: texts change."""


@dataclass(slots=True)
class Reliability:
    """How often the target agrees with a match, by its length.

    One proposal tests one length: after k accepted ones a match of n tokens has become a match of
    n + k, and proves as good as one that long from the start (on the prior's data 0.43 against
    0.53 at two tokens, 0.56 against 0.62 at three).
    """

    _rates: list[float] = field(default_factory=lambda: list(_PRIOR))
    _tests: list[int] = field(default_factory=lambda: [_PRIOR_TESTS] * len(_PRIOR))

    def of(self, length: int) -> float:
        """Probability, 0..1, that the token after a match of `length` tokens is accepted."""
        return self._rates[bisect_left(_LONGEST, length)]

    def observe(self, length: int, *, accepted: bool) -> None:
        """Take in one verdict on the token after a match of `length` tokens."""
        bucket = bisect_left(_LONGEST, length)
        self._tests[bucket] = tests = min(self._tests[bucket] + 1, _MEMORY_TESTS)
        self._rates[bucket] += (accepted - self._rates[bucket]) / tests


@dataclass(slots=True)
class _Memory:
    """One sequence's index, and the draft last made from it as it stands."""

    index: SuffixIndex = field(default_factory=SuffixIndex)
    draft: Draft | None = None


class LookupDrafter:
    """Drafts from the sequence's own prompt and answer (see `Drafter`).

    The text is taken in when a draft is asked for, not before: the tail that a stop string or an
    end token cuts off an answer is then mostly not in yet, and the next turn can go on from there.
    """

    kind = "lookup"
    relative_cost = 0.0

    def __init__(self) -> None:
        self._memories: dict[int, _Memory] = {}
        self._reliability = Reliability()

    def begin(self, sequence: Sequence) -> None:
        """Keep what is known of this seq_id if the new text goes on from it, else start afresh."""
        memory = self._memories.get(sequence.seq_id)
        if memory is None or memory.index.tokens != sequence.tokens[: len(memory.index)]:
            self._memories[sequence.seq_id] = _Memory()

    def n_behind(self, sequence: Sequence) -> int:
        """Nothing is evaluated; taking in a token costs microseconds."""
        return 0

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Fill each draft to its limit at once; none is offered where the last token is new."""
        return [draft for draft in drafts if self._fill(draft)]

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Learn from the verdicts on a draft of ours."""
        memory = self._memories[draft.sequence.seq_id]
        if memory.draft is not draft:
            return
        memory.draft = None
        length = memory.index.match_length
        for i in range(n_accepted):
            self._reliability.observe(length + i, accepted=True)
        # An answer may end inside a draft; what comes after that was not tested.
        place = len(memory.index) + n_accepted
        ended = place >= len(draft.sequence.tokens)
        if n_accepted < len(draft.tokens) and not ended:
            self._reliability.observe(length + n_accepted, accepted=False)

    def end(self, sequence: Sequence) -> None:
        """Nothing to do: the next sequence with this seq_id is often the chat's next turn."""

    def _fill(self, draft: Draft) -> bool:
        """Propose up to the limit; False if there was nothing to add."""
        memory = self._memories[draft.sequence.seq_id]
        index = memory.index
        index.extend(draft.sequence.tokens[len(index) :])
        memory.draft = None
        room = draft.limit - len(draft.tokens)
        match = index.match()
        if match is None or draft.tokens or room < 1:
            return False
        for i, token in enumerate(index.continuation(match, room)):
            draft.propose(token, self._reliability.of(match.length + i))
        memory.draft = draft
        return True
