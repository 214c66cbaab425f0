"""Who decides how deep to draft: the seam, and the policies that need no learning.

Once a round the loop calls `plan`; then `starts` before it asks a drafter, `more` after each proposal,
`prefers` between two drafters and `allot` before it verifies. `drafted` and `observe` tell the policy
what that cost and brought. The policy that learns is in `margin.py`.
"""

from dataclasses import dataclass
from typing import Protocol

from localspec.engine.drafters.base import Draft, Drafter


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of one draft.

    Attributes:
        draft: its tokens are what was verified.
        n_tested: of these, compared with a pick; none after the first rejection.
        n_accepted: of these, kept.
        tokens: what the target wrote in this round.
    """

    draft: Draft
    n_tested: int
    n_accepted: int
    tokens: list[int]

    @property
    def judgements(self) -> list[bool]:
        """For each proposal of which it is known, whether it was right, verified or not: what was not
        verified is judged by the token that the target wrote in its place."""
        return judged(self.draft, self.tokens)


def judged(draft: Draft, tokens: list[int]) -> list[bool]:
    """Whether a draft's proposals were right, as far as `tokens` reach; the first wrong one is the last."""
    found: list[bool] = []
    for proposal, token in zip(draft.tokens + draft.spare_tokens, tokens, strict=False):
        found.append(proposal == token)
        if proposal != token:
            break
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """A settled step in which no prompt was read.

    Attributes:
        n_rows: rows of the verify pass, all sequences together.
        n_cells: tokens of context it attended to, all sequences together.
        verify_s: seconds of the pass and the walk over its rows.
        verdicts: one for each sequence.
    """

    n_rows: int
    n_cells: int
    verify_s: float
    verdicts: list[Verdicts]


class DepthPolicy(Protocol):
    """Decides draft lengths."""

    max_depth: int
    """Most tokens of a draft."""

    def plan(self, drafts: list[Draft]) -> None:
        """A round begins; the drafts are empty, their limits are set. The list is the loop's own."""

    def starts(self, draft: Draft, drafter: Drafter) -> bool:
        """True if this drafter should be asked for a first proposal."""

    def more(self, draft: Draft) -> bool:
        """True if this draft should grow by another token."""

    def prefers(self, draft: Draft, other: Drafter) -> bool:
        """True if this draft is worth more than what `other` is likely to bring for its sequence."""

    def allot(self, drafts: list[Draft]) -> list[int]:
        """How many proposals of each draft to verify, from the first on."""

    def branches(self, drafts: list[Draft]) -> list[int | None]:
        """For each draft, cut to what is verified, the proposal whose runner-up is verified too, if any."""

    def drafted(self, drafter: Drafter, n_sequences: int, n_behind: int, seconds: float) -> None:
        """A level of drafts took so long; the drafter had `n_behind` tokens to catch up with."""

    def observe(self, outcome: Outcome) -> None:
        """A step without prefill was settled."""

    def prefilled(self, n_tokens: int, seconds: float) -> None:
        """The target read `n_tokens` of a prompt in one pass."""


class FixedDepth:
    """Always the same depth."""

    def __init__(self, depth: int) -> None:
        self.max_depth = depth

    def plan(self, drafts: list[Draft]) -> None:
        return None

    def starts(self, draft: Draft, drafter: Drafter) -> bool:
        return True

    def more(self, draft: Draft) -> bool:
        return True

    def prefers(self, draft: Draft, other: Drafter) -> bool:
        return True

    def allot(self, drafts: list[Draft]) -> list[int]:
        return [len(draft.tokens) for draft in drafts]

    def branches(self, drafts: list[Draft]) -> list[int | None]:
        return [None] * len(drafts)

    def drafted(self, drafter: Drafter, n_sequences: int, n_behind: int, seconds: float) -> None:
        return None

    def observe(self, outcome: Outcome) -> None:
        return None

    def prefilled(self, n_tokens: int, seconds: float) -> None:
        return None


class NoDraft(FixedDepth):
    """Plain decoding: the no-op twin."""

    def __init__(self) -> None:
        super().__init__(0)


class ThresholdDepth(FixedDepth):
    """Drafts on while the drafter's own probability is high, as llama.cpp does (its p-min).

    Args:
        depth: most tokens of a draft.
        threshold: a proposal less likely than this ends the draft and is not verified.
    """

    def __init__(self, depth: int, threshold: float) -> None:
        super().__init__(depth)
        self._threshold = threshold

    def more(self, draft: Draft) -> bool:
        return draft.confidences[-1] >= self._threshold

    def allot(self, drafts: list[Draft]) -> list[int]:
        return [
            next(
                (i for i, c in enumerate(draft.confidences) if c < self._threshold),
                len(draft.tokens),
            )
            for draft in drafts
        ]
