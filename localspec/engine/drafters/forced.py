"""Proposes what a grammar leaves no choice about: keys, quotes and brackets; needs no model.

The target need not agree: it may cut the same text into other tokens, which are allowed too.
"""

from localspec.batch import Batch
from localspec.engine.drafters.base import Draft
from localspec.engine.sequence import Sequence

_SURE = 0.9
"""Confidence before any verdict; the depth policy learns what it is worth."""


class ForcedDrafter:
    """Drafts the only way on of a sequence's constraint (see `Drafter`)."""

    kind = "grammar"
    relative_cost = 0.0
    at_once = True
    reads_states = False

    def n_behind(self, sequence: Sequence) -> int:
        """Nothing is evaluated."""
        return 0

    def begin(self, sequence: Sequence) -> None:
        """Nothing: the sequence has its constraint."""

    def process(self, batch: Batch) -> None:
        """Nothing: it reads the grammar alone."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Fill each draft as far as there is one way only."""
        return [draft for draft in drafts if self._fill(draft)]

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Nothing to learn."""

    def end(self, sequence: Sequence) -> None:
        """Nothing to keep."""

    @staticmethod
    def _fill(draft: Draft) -> bool:
        constraint = draft.sequence.constraint
        if constraint is None or draft.tokens:
            return False
        for token in constraint.at([]).forced(draft.limit):
            draft.propose(token, _SURE)
        return bool(draft.tokens)
