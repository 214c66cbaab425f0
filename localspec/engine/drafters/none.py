"""The drafter that proposes nothing: plain decoding."""

from localspec.engine.drafters.base import Draft
from localspec.engine.sequence import Sequence


class NoDrafter:
    """Plain decoding, through the same loop."""

    kind = "none"

    def begin(self, sequence: Sequence) -> None:
        return None

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        return []

    def accept(self, draft: Draft, n_accepted: int) -> None:
        return None

    def end(self, sequence: Sequence) -> None:
        return None
