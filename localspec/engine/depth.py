"""How deep to draft, decided from what passes really cost (DESIGN: speculating on the margin).

The loop asks `plan` once a round, `more` after each proposal and `worth` before it verifies; `observe`
tells the policy what became of it. `FixedDepth` always drafts as told; `NoDraft` is the no-op twin;
`MeasuredDepth` compares expected tokens per second at every depth, 0 included.
"""

from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from localspec.engine.drafters.base import Draft
from localspec.params import DepthParams


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Where the time of one step went, and what it brought.

    Attributes:
        n_rows: rows of the verify pass, all sequences together.
        n_drafted: proposals, all sequences together.
        n_tested: of these, compared with a pick.
        n_accepted: of these, kept.
        draft_s: seconds spent drafting.
        verify_s: seconds of the verify pass and the walk over its rows.
    """

    n_rows: int
    n_drafted: int
    n_tested: int
    n_accepted: int
    draft_s: float
    verify_s: float


class DepthPolicy(Protocol):
    """Decides draft lengths."""

    def plan(self) -> int:
        """Most tokens to draft for each sequence in this round; 0 means a plain round."""

    def more(self, draft: Draft) -> bool:
        """True if this draft should grow by another token."""

    def worth(self, draft: Draft) -> int:
        """How many of the proposals are worth verifying, from the first on."""

    def observe(self, cost: RoundCost) -> None:
        """A step without prefill was settled."""


class FixedDepth:
    """Always the same depth."""

    def __init__(self, depth: int) -> None:
        self._depth = depth

    def plan(self) -> int:
        return self._depth

    def more(self, draft: Draft) -> bool:
        return True

    def worth(self, draft: Draft) -> int:
        return len(draft.tokens)

    def observe(self, cost: RoundCost) -> None:
        return None


class NoDraft(FixedDepth):
    """Plain decoding."""

    def __init__(self) -> None:
        super().__init__(0)


class MeasuredDepth:
    """The depth with the best expected tokens per second, from measured times.

    With α the chance that a proposal is accepted, a draft of d tokens yields
    (1 - α^(d+1)) / (1 - α) tokens (Leviathan et al. 2023, eq. 1) and costs d draft passes and a
    pass of d + 1 rows. What was drafted is verified as far as the chance that all proposals up to
    there are accepted, by the drafter's confidence, outweighs the time of one more row. Times are
    medians of the last passes, so that one stall changes nothing. While drafting does not pay, it
    is tried again after 8, 16, 32 … rounds.
    """

    _WARM_UP = 3
    _TRIAL_DEPTHS = (1, 3)
    _FIRST_PAUSE = 8
    _LONGEST_PAUSE = 512
    _FREE = 0.01
    """Draft tokens that cost less than this part of a plain pass are always asked for."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._times: dict[int, deque[float]] = {}
        self._draft_s: deque[float] = deque(maxlen=32)
        self._accepted = 0.7 * 4
        self._tested = 4.0
        self._plain_rounds = 0
        self._pause = self._FIRST_PAUSE
        self._since_draft = 0

    def plan(self) -> int:
        if self._plain_rounds < self._WARM_UP:
            return 0
        if self._draft_s and median(self._draft_s) < self._FREE * self._pass_time(1):
            return self._max_depth
        depth, _ = self._best()
        untried = self._untried()
        if untried and (depth > 0 or not self._draft_s or self._since_draft >= self._pause):
            return min(untried[0], self._max_depth)
        if depth == 0 and self._since_draft >= self._pause:
            return min(2, self._max_depth)
        return depth

    def more(self, draft: Draft) -> bool:
        return True

    def worth(self, draft: Draft) -> int:
        untried = self._untried()
        if untried and (
            len(untried) == len(self._TRIAL_DEPTHS) or self._since_draft >= self._pause
        ):
            return min(untried[0], len(draft.tokens))
        if self._since_draft >= self._pause:
            return min(2, len(draft.tokens))
        _, rate = self._best()
        all_accepted = 1.0
        for n, confidence in enumerate(draft.confidences):
            all_accepted *= confidence
            if all_accepted <= rate * (self._pass_time(n + 2) - self._pass_time(n + 1)):
                return n
        return len(draft.tokens)

    def observe(self, cost: RoundCost) -> None:
        self._times.setdefault(cost.n_rows, deque(maxlen=9)).append(cost.verify_s)
        if cost.n_drafted == 0:
            self._plain_rounds += 1
            self._since_draft += 1
            return
        self._draft_s.append(cost.draft_s / cost.n_drafted)
        self._tested = 0.97 * self._tested + cost.n_tested
        self._accepted = 0.97 * self._accepted + cost.n_accepted
        pays = self._best()[0] > 0
        self._pause = self._FIRST_PAUSE if pays else min(2 * self._pause, self._LONGEST_PAUSE)
        self._since_draft = 0

    def _untried(self) -> list[int]:
        return [d for d in self._TRIAL_DEPTHS if d + 1 not in self._times and d <= self._max_depth]

    def _best(self) -> tuple[int, float]:
        """The best depth and its expected tokens per second; plain before anything was drafted."""
        if not self._draft_s:
            return 0, 1.0 / self._pass_time(1)
        alpha = min(self._accepted / self._tested, 0.99)
        per_draft = median(self._draft_s)
        rates = [
            (1 - alpha ** (d + 1)) / (1 - alpha) / (self._pass_time(d + 1) + d * per_draft)
            for d in range(self._max_depth + 1)
        ]
        depth = max(range(len(rates)), key=rates.__getitem__)
        return depth, rates[depth]

    def _pass_time(self, n_rows: int) -> float:
        """Median time of a pass with `n_rows` rows; where it never ran, on the line through the two
        row counts beside it, or through the last two known."""
        if n_rows in self._times:
            return median(self._times[n_rows])
        known = sorted(self._times)
        n_above = next((i for i, n in enumerate(known) if n > n_rows), len(known) - 1)
        low, high = known[max(n_above - 1, 0)], known[n_above]
        t_low, t_high = median(self._times[low]), median(self._times[high])
        # With one row count known, every further row may cost as much as the first.
        slope = (t_high - t_low) / (high - low) if high > low else t_low / low
        return t_low + max(slope, 0.0) * (n_rows - low)


def make_policy(params: DepthParams) -> DepthPolicy:
    """The policy that the parameters ask for."""
    if params.depth is None:
        return MeasuredDepth(params.max_depth)
    return FixedDepth(params.depth) if params.depth > 0 else NoDraft()
