"""A policy that branches in every round, to bring the engine into every situation on purpose."""

from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import Draft


class AlwaysBranching(FixedDepth):
    """Drafts to one depth, and branches at the least certain proposal.

    Args:
        depth: tokens of a draft; a pass has a row more, for the branch.
    """

    def __init__(self, depth: int) -> None:
        super().__init__(depth + 1)
        self._depth = depth

    def more(self, draft: Draft) -> bool:
        return len(draft.tokens) < self._depth

    def branches(self, drafts: list[Draft]) -> list[int | None]:
        return [
            min(range(len(d.tokens)), key=d.confidences.__getitem__, default=None) for d in drafts
        ]
