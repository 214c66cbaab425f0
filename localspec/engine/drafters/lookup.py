"""Proposes what followed when the text's own end last occurred in it; needs no model.

The longest match wins and among equals the most recent, whatever its length (`suffix.py`), unless
the text was being copied from elsewhere a moment ago and goes on near there (`copying.py`). How far
matches of both kinds can be trusted is learned from what the target writes, text by text. Sees the
sequence's tokens only; the drafts go to the loop, which has the target verify them.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from localspec.batch import Batch
from localspec.engine.depth import judged
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.copying import SURE, Copy
from localspec.engine.sequence import Sequence
from localspec.engine.suffix import Match, SuffixIndex

_LONGEST = (1, 2, 3, 5, 8, 16)
"""The longest match of each bucket; one bucket more holds all that are longer."""

_PRIOR = (0.25, 0.45, 0.60, 0.75, 0.85, 0.90, 0.95)
"""Acceptance of each bucket before any verdict: five prompts (two on code to edit or test), 260
tokens each, greedy, Qwen2.5-Coder 0.5B Q4_K_M; 1,013 tests."""

_RESUMED_PRIOR = (0.45, 0.65, 0.70, 0.75, 0.85, 0.90, 0.95)
"""The same where a broken copy goes on: 27 turns of the built-in suite, greedy, Qwen2.5-Coder 1.5B
Q4_K_M; 0.30 to 0.36 of 249 tests at one token (0.70 of them where a text was edited), 0.62 of 97 at two."""

_PRIOR_TESTS = 8
_MEMORY_TESTS = 128
"""A verdict weighs 1/n after n tests, and never less than this: texts change."""

_OF_ALL_TEXTS = 12
"""What was learned from all texts weighs so many verdicts on a new one, at most."""


class Reliability:
    """How often the target agrees with a match, by its length.

    One proposal tests one length: after k accepted ones a match of n tokens has become a match of
    n + k, and proves as good as one that long from the start (on the prior's data 0.43 against
    0.53 at two tokens, 0.56 against 0.62 at three).

    Args:
        rates: acceptance of each bucket of lengths before any verdict.
    """

    def __init__(self, rates: tuple[float, ...] = _PRIOR) -> None:
        self._rates = list(rates)
        self._tests = [_PRIOR_TESTS] * len(rates)

    def of(self, length: int) -> float:
        """Probability, 0..1, that the token after a match of `length` tokens is accepted."""
        return self._rates[bisect_left(_LONGEST, length)]

    def observe(self, length: int, *, accepted: bool) -> None:
        """Take in one verdict on the token after a match of `length` tokens."""
        bucket = bisect_left(_LONGEST, length)
        self._tests[bucket] = tests = min(self._tests[bucket] + 1, _MEMORY_TESTS)
        self._rates[bucket] += (accepted - self._rates[bucket]) / tests

    def of_a_text(self) -> "Reliability":
        """That of one text, which begins with what all texts have taught."""
        own = Reliability(tuple(self._rates))
        own._tests = [min(n, _OF_ALL_TEXTS) for n in self._tests]
        return own


class _Trust(NamedTuple):
    """Reliability of matches found anywhere in a text, and of those where a broken copy goes on."""

    found: Reliability
    resumed: Reliability

    def of_a_text(self) -> "_Trust":
        return _Trust(self.found.of_a_text(), self.resumed.of_a_text())


@dataclass(slots=True)
class _Memory:
    """One sequence's index, what was learned of its text, and the draft last made from it.

    Attributes:
        trust: in its matches.
        index: of its text.
        copy: where it is being copied from.
        draft: made from the index as it stands.
        length: of the match behind that.
        resumed: that match is where a broken copy goes on.
    """

    trust: _Trust
    index: SuffixIndex = field(default_factory=SuffixIndex)
    copy: Copy = field(default_factory=Copy)
    draft: Draft | None = None
    length: int = 0
    resumed: bool = False


class LookupDrafter:
    """Drafts from the sequence's own prompt and answer (see `Drafter`).

    The text is taken in when a draft is asked for, not before: the tail that a stop string or an
    end token cuts off an answer is then mostly not in yet, and the next turn can go on from there.
    """

    kind = "lookup"
    relative_cost = 0.0
    at_once = True
    reads_states = False

    def __init__(self) -> None:
        self._memories: dict[int, _Memory] = {}
        self._trust = _Trust(Reliability(), Reliability(_RESUMED_PRIOR))

    def begin(self, sequence: Sequence) -> None:
        """Keep what is known of this seq_id if the new text goes on from it, else start afresh."""
        memory = self._memories.get(sequence.seq_id)
        if memory is None or memory.index.tokens != sequence.tokens[: len(memory.index)]:
            self._memories[sequence.seq_id] = _Memory(self._trust.of_a_text())

    def n_behind(self, sequence: Sequence) -> int:
        """Nothing is evaluated; taking in a token costs microseconds."""
        return 0

    def process(self, batch: Batch) -> None:
        """Nothing: it reads the text alone."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Fill each draft to its limit at once; none is offered where the last token is new."""
        return [draft for draft in drafts if self._fill(draft)]

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Learn from what was written whether our draft was right, verified or not.

        An answer may end inside a draft; what comes after that was not tested.
        """
        memory = self._memories[draft.sequence.seq_id]
        mine, memory.draft = memory.draft, None
        if mine is None:
            return
        written = draft.sequence.tokens[len(memory.index) :]
        for i, right in enumerate(judged(mine, written)):
            for trust in (self._trust, memory.trust):
                kind = trust.resumed if memory.resumed else trust.found
                kind.observe(memory.length + i, accepted=right)

    def end(self, sequence: Sequence) -> None:
        """Nothing to do: the next sequence with this seq_id is often the chat's next turn."""

    def _fill(self, draft: Draft) -> bool:
        """Propose up to the limit; False if there was nothing to add."""
        memory = self._memories[draft.sequence.seq_id]
        index, copy = memory.index, memory.copy
        for token in draft.sequence.tokens[len(index) :]:
            index.append(token)
            copy.take(index.tokens, len(index) - 1)
        memory.draft = None
        room = draft.limit - len(draft.tokens)
        match = self._match(memory)
        if match is None or draft.tokens or room < 1:
            return False
        if memory.resumed or match.length >= SURE:
            copy.follow(match)
        trust = memory.trust.resumed if memory.resumed else memory.trust.found
        for i, token in enumerate(index.continuation(match, room)):
            draft.propose(token, trust.of(match.length + i))
        memory.draft, memory.length = draft, match.length
        return True

    @staticmethod
    def _match(memory: _Memory) -> Match | None:
        """The more reliable one of the longest match anywhere and where a broken copy goes on."""
        found, resumed = memory.index.match(), memory.copy.resumed(memory.index.tokens)
        memory.resumed = resumed is not None and (
            found is None
            or memory.trust.resumed.of(resumed.length) > memory.trust.found.of(found.length)
        )
        return resumed if memory.resumed else found
