"""Drafts deeper than a policy wants, so that a trace tells what the drafter would have proposed.

`Recording` stands between the loop and a policy. The drafter proposes to full depth each round; the
policy is asked, and told what came of it, as if each draft had ended where it would have ended it.
So what is verified, and the text, are the policy's own; only the time is not.
"""

from dataclasses import replace

from localspec.engine.depth import DepthPolicy, Outcome
from localspec.engine.drafters.base import Draft, Drafter

DEPTH = 16


class Recording:
    """A policy whose drafts are recorded beyond what it verifies.

    Args:
        policy: decides what is verified. Whatever the engine knows of it (what drafters go with it) must
            be settled before it is wrapped.
        depth: most proposals of a round.
        n_ctx: tokens of context. With it drafts may outgrow what a pass has rows for, since the rest
            is not verified; without it they keep within.
    """

    def __init__(self, policy: DepthPolicy, depth: int = DEPTH, n_ctx: int | None = None) -> None:
        self.inner = policy
        self.max_depth = max(depth, policy.max_depth)
        self._n_ctx = n_ctx
        self._loop: list[Draft] = []
        self._seen: list[Draft] = []
        self._shadows: dict[Draft, Draft] = {}
        self._growing: set[Draft] = set()

    def plan(self, drafts: list[Draft]) -> None:
        self._loop, self._shadows = drafts, {}
        self._growing.clear()
        self._seen = [self._shadow(draft, draft.limit) for draft in drafts]
        self.inner.plan(self._seen)
        for draft in drafts:
            self._widen(draft)

    def starts(self, draft: Draft, drafter: Drafter) -> bool:
        shadow = self._current(draft)
        # another drafter may have been asked before, and had nothing to propose
        self._growing.discard(draft)
        if shadow.limit > 0 and self.inner.starts(shadow, drafter):
            shadow.kind = drafter.kind
            self._growing.add(draft)
            return True
        # For the record only, if it takes a model to know: a look-up can be made again from the text.
        return drafter.n_behind(draft.sequence) > 0

    def more(self, draft: Draft) -> bool:
        shadow = self._caught_up(draft)
        if draft in self._growing and not (
            len(shadow.tokens) < shadow.limit and self.inner.more(shadow)
        ):
            self._growing.discard(draft)
        return True

    def prefers(self, draft: Draft, other: Drafter) -> bool:
        return self.inner.prefers(self._caught_up(draft), other)

    def allot(self, drafts: list[Draft]) -> list[int]:
        shadows = [self._caught_up(draft) for draft in drafts]
        counts = self.inner.allot(shadows)
        for shadow, n in zip(shadows, counts, strict=True):
            shadow.cut(n)
        return counts

    def branches(self, drafts: list[Draft]) -> list[int | None]:
        # what is recorded is a draft to full depth, which leaves no row for a branch
        return [None] * len(drafts)

    def drafted(self, drafter: Drafter, n_sequences: int, n_behind: int, seconds: float) -> None:
        n_growing = sum(self._shadows[d].kind == drafter.kind for d in self._growing)
        if n_growing:
            self.inner.drafted(drafter, n_growing, n_behind, seconds)

    def observe(self, outcome: Outcome) -> None:
        verdicts = [replace(v, draft=self._shadows[v.draft]) for v in outcome.verdicts]
        self.inner.observe(replace(outcome, verdicts=verdicts))

    def prefilled(self, n_tokens: int, seconds: float) -> None:
        self.inner.prefilled(n_tokens, seconds)

    def _shadow(self, draft: Draft, limit: int) -> Draft:
        """What the policy sees of a draft."""
        shadow = Draft(draft.sequence, min(limit, self.inner.max_depth))
        self._shadows[draft] = shadow
        return shadow

    def _current(self, draft: Draft) -> Draft:
        """The policy's view of a draft, made anew where the loop has begun it anew."""
        if draft not in self._shadows:
            i = self._loop.index(draft)
            self._growing -= {d for d in self._growing if self._shadows[d] is self._seen[i]}
            self._seen[i] = self._shadow(draft, self._seen[i].limit)
        return self._shadows[draft]

    def _caught_up(self, draft: Draft) -> Draft:
        """The policy's view, with what was proposed since while it wanted more."""
        shadow = self._current(draft)
        if draft in self._growing:
            for i in range(len(shadow.tokens), min(len(draft.tokens), shadow.limit)):
                shadow.propose(draft.tokens[i], draft.confidences[i])
        return shadow

    def _widen(self, draft: Draft) -> None:
        if self._n_ctx is None or draft.limit == 0:
            return
        s = draft.sequence
        room = self._n_ctx - len(s.tokens) - 1
        left = room if s.max_tokens is None else s.max_tokens - s.n_generated - 1
        draft.limit = max(draft.limit, min(self.max_depth, room, left))
