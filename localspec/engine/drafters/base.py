"""What every drafter does: begin, draft, process, accept (llama.cpp's verbs, common/speculative.h).

The loop owns a `Draft` per sequence and asks level by level; between two levels the depth policy
decides which drafts grow on. A drafter never sees another drafter, nor the policy.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.engine.sampling import NotNumbersError
from localspec.errors import LocalspecError

if TYPE_CHECKING:
    from localspec.engine.sequence import Sequence


@dataclass(slots=True, eq=False)
class Draft:
    """Tokens proposed for one sequence in this round.

    Attributes:
        sequence: the sequence they would follow.
        limit: most tokens that may be proposed this round.
        tokens: ids proposed so far.
        confidences: for each, the drafter's probability that the target will agree, 0..1.
        runners_up: for each proposal the token that would have been proposed without it, and its
            probability; (-1, 0) where the drafter knows none.
        branch: the proposal whose runner-up is verified beside it; None for none.
        hit: the runner-up was right, and the token after it is known too.
        kind: the drafter that was asked.
        spare_tokens: proposals that were found not worth verifying.
        spare_confidences: theirs.
    """

    sequence: "Sequence"
    limit: int
    tokens: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    runners_up: list[tuple[int, float]] = field(default_factory=list)
    branch: int | None = None
    hit: bool = False
    kind: str = ""
    spare_tokens: list[int] = field(default_factory=list)
    spare_confidences: list[float] = field(default_factory=list)

    @property
    def n_proposed(self) -> int:
        """All proposals made, verified or not."""
        return len(self.tokens) + len(self.spare_tokens)

    @property
    def alternative(self) -> int:
        """The token that stands beside the proposal at `branch`."""
        assert self.branch is not None
        return self.runners_up[self.branch][0]

    def propose(
        self, token: int, confidence: float, runner_up: tuple[int, float] = (-1, 0.0)
    ) -> None:
        """Append one proposal."""
        self.tokens.append(token)
        self.confidences.append(confidence)
        self.runners_up.append(runner_up)

    def propose_from(self, row: NDArray[np.float32], confidence: float | None = None) -> None:
        """Append what the target's sampler would pick from a drafter's row, with the target's noise.

        Args:
            row: logits, shape (n_vocab of the target,).
            confidence: of the drafter's own making; None takes the pick's probability.

        Raises:
            NoDraftError: the row holds something that is not a number.
        """
        s = self.sequence
        window = s.sampler.window(s.tokens, self.tokens)
        place = s.constraint.at(self.tokens) if s.constraint else None
        try:
            pick = s.sampler.pick(row, len(s.tokens) + len(self.tokens), window, place)
        except NotNumbersError as error:
            raise NoDraftError from error
        own = pick.probability if confidence is None else confidence
        self.propose(pick.token, own, (pick.second, pick.second_probability))

    def obey(self) -> None:
        """Give up what the sequence may not go on with."""
        if self.sequence.constraint is not None:
            n = self.sequence.constraint.at([]).n_allowed(self.tokens)
            del self.tokens[n:], self.confidences[n:], self.runners_up[n:]

    def cut(self, n: int) -> None:
        """Leave the first `n` proposals to be verified."""
        self.spare_tokens, self.spare_confidences = self.tokens[n:], self.confidences[n:]
        del self.tokens[n:], self.confidences[n:]


class NoDraftError(LocalspecError):
    """A drafter's row of logits holds something that is not a number."""

    def __init__(self) -> None:
        super().__init__(
            "The drafter's output is not numbers (NaN): its file was made wrongly, or is for another target.",
            "Answer without it: -d lookup",
        )


class Drafter(Protocol):
    """Proposes tokens that the target then verifies in one pass."""

    kind: str
    """The name shown to users: "draft-model", "lookup", …"""
    relative_cost: float
    """What a level is expected to cost before it was measured, in plain passes of the target."""
    at_once: bool
    """True if a draft has one level only, in which all of it is proposed."""
    reads_states: bool
    """True if it must see the target's state of every token before it can draft."""

    def n_behind(self, sequence: "Sequence") -> int:
        """Tokens of a sequence that must be evaluated before its next proposal; 0 if none ever are."""

    def begin(self, sequence: "Sequence") -> None:
        """A sequence was opened: its prompt is in `sequence.tokens`, nothing is generated yet."""

    def process(self, batch: Batch) -> None:
        """The target has run this batch, draft tokens that it may refuse included; its states can be
        read now."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Add one or more proposals to each draft, within its limit.

        Returns:
            The drafts that got any; one that got none will not grow any more this round.
        """

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """The target kept the first `n_accepted` proposals; `draft.sequence.tokens` already holds
        them and the target's own token after them, or two where a branch was right. Called once per
        sequence and round, also for a draft that stayed empty."""

    def end(self, sequence: "Sequence") -> None:
        """The sequence was closed; its memory may be reused by the next one with this seq_id."""
