"""What every drafter does: begin, draft, process, accept (llama.cpp's verbs, common/speculative.h).

The loop owns a `Draft` per sequence and asks level by level; between two levels the depth policy
decides which drafts grow on. A drafter never sees another drafter, nor the policy.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

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
    """

    sequence: "Sequence"
    limit: int
    tokens: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)

    def propose(self, token: int, confidence: float) -> None:
        """Append one proposal."""
        self.tokens.append(token)
        self.confidences.append(confidence)


class Drafter(Protocol):
    """Proposes tokens that the target then verifies in one pass."""

    kind: str
    """The name shown to users: "draft-model", "lookup", …"""

    def begin(self, sequence: "Sequence") -> None:
        """A sequence was opened: its prompt is in `sequence.tokens`, nothing is generated yet."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Add one or more proposals to each draft, within its limit.

        Returns:
            The drafts that got any; one that got none will not grow any more this round.
        """

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """The target kept the first `n_accepted` proposals; `draft.sequence.tokens` already holds
        them and the target's own token after them. Called once per sequence and round, also for
        a draft that stayed empty."""

    def end(self, sequence: "Sequence") -> None:
        """The sequence was closed; its memory may be reused by the next one with this seq_id."""
