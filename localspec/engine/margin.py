"""Speculating on the margin: every token of a draft must be worth more than the time it costs.

With λ the best rate known now (tokens/s), T(n) the time of a pass with n rows, c that of one more draft
token and A the chance that all proposals so far are accepted: draft one more while what it is
expected to add to A outweighs λ · (c + T(n+1) - T(n)), and verify the proposals that maximise
sum(A) - λ · T. All of it is measured (`cost.py`) and calibrated (`calibration.py`) on the way; there
is nothing to tune. λ makes it the best rate in the long run (Dinkelbach 1967, fractional programming).
"""

from dataclasses import dataclass, field
from typing import Any

from localspec.engine.calibration import Calibration, Outlook
from localspec.engine.cost import CostTable, positive
from localspec.engine.depth import Outcome, Verdicts
from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.prospect import NO_PROSPECT, Prospect, by_chance, expected, share_of_rest
from localspec.engine.sequence import Sequence

_WARM_UP = 2
"""Plain rounds before the first draft, to know what plain decoding costs."""

_MEMORY = 0.97
"""Weight of the past in λ, a round: about thirty rounds."""

_KEPT_ROUNDS = 10
"""Rounds that a speed kept from the last start weighs."""

_FIRST_PAUSE, _LONGEST_PAUSE = 16, 512
"""Rounds between two probes while drafting does not pay; doubled by each probe in vain."""

_PROBE_SHARE = 0.01
"""Probes may cost this part of the time."""

_PROBE_DEPTH = 2
_DEPTHS = (1, 2, 4, 8, 16)
"""Depths that a draft is planned for; what it comes to is decided token by token."""

_FURTHER = (1, 2, 4)
"""Tokens that `more` looks ahead, to see past a step of T."""

_WIDER = 4
"""A pass may be so many times as wide as any before: its cost is a guess."""

_OPTION = 0.75
"""Part of its cost that the next proposal has to bring by itself. What a draft may become is averaged in
`_expected`; that one stops where it turns out badly and goes on where it turns out well is worth the
rest (replayed: 0.6 to 0.8 are alike, 1.0 loses 0.5 % over seven machines)."""

_FREE = 0.01
"""A drafter whose level costs less than this part of a plain pass is asked for a whole draft."""

_UNKNOWN_REST = 64
"""Tokens that an answer without a limit is expected to go on for, at least."""


@dataclass(slots=True)
class _Text:
    """What is known of one sequence alone: beside a predictable text there may be another.

    Attributes:
        sequence: whose text it is.
        missed: its last draft was not taken whole.
        outlooks: by drafter and class of temperature.
    """

    sequence: Sequence
    missed: bool = False
    outlooks: dict[str, Outlook] = field(default_factory=dict)


class MarginDepth:
    """Depth by depth, draft by draft, from measured costs and calibrated confidence.

    Args:
        max_depth: most tokens of a draft.
    """

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self.cost = CostTable()
        self.calibrations: dict[str, Calibration] = {}
        self._outlooks: dict[str, Outlook] = {}
        self._runners_up: dict[str, Calibration] = {}
        self._texts: dict[int, _Text] = {}
        self._tokens = self._seconds = 0.0
        self._plain_rounds = 0
        self._pause = _FIRST_PAUSE
        self._since_draft = 0
        self._probing: set[int] = set()
        self._round: list[Draft] = []
        self._drafters: dict[str, Drafter] = {}

    def plan(self, drafts: list[Draft]) -> None:
        # the loop's own list: a draft that is replaced in it is replaced here too
        self._round = drafts
        self._probing.clear()

    def starts(self, draft: Draft, drafter: Drafter) -> bool:
        self._drafters[drafter.kind] = drafter
        if self._plain_rounds < _WARM_UP or not self.cost.measured:
            return False
        if self._is_free(drafter):
            return True
        behind = self._catching_up_s(draft, drafter)
        prospect = self._prospect(draft, drafter)
        if prospect.gain > 0 and self._saves(draft, prospect) > behind:
            return True
        loss = behind - prospect.gain / self._best_rate()
        due = self._since_draft >= self._pause
        if due and loss < _PROBE_SHARE * self._since_draft * self.cost.pass_s(1):
            self._probing.add(draft.sequence.seq_id)
            return True
        return False

    def more(self, draft: Draft) -> bool:
        if draft.sequence.seq_id in self._probing:
            return len(draft.tokens) < _PROBE_DEPTH
        drafter = self._drafters[draft.kind]
        if self._is_free(drafter):
            return True
        return self._ahead(draft, drafter).gain > 0

    def prefers(self, draft: Draft, other: Drafter) -> bool:
        self._drafters[other.kind] = other
        rest = self._prospect(draft, other).gain
        chances = self._chances(draft)
        beside = self._n_rows(self._round) - len(draft.tokens)
        mine = max(self._margins([chances], beside), default=0.0)
        return mine >= rest - self._best_rate() * self._catching_up_s(draft, other)

    def allot(self, drafts: list[Draft]) -> list[int]:
        if self._probing or not self.cost.measured:
            return [len(draft.tokens) for draft in drafts]
        chances = [self._chances(draft) for draft in drafts]
        margins = self._margins(chances, sum(draft.sequence.n_pending for draft in drafts))
        n_best = max(range(len(margins)), key=margins.__getitem__) + 1 if margins else 0
        if not margins or margins[n_best - 1] <= 0:
            n_best = 0
        counts = [0] * len(drafts)
        for _, i in by_chance(chances)[:n_best]:
            counts[i] += 1
        return counts

    def branches(self, drafts: list[Draft]) -> list[int | None]:
        if self._probing or not self.cost.measured:
            return [None] * len(drafts)
        n_rows = self._n_rows(drafts)
        found: list[int | None] = []
        for draft in drafts:
            row = self._best_rate() * (self.cost.pass_s(n_rows + 1) - self.cost.pass_s(n_rows))
            values = self._branch_values(draft)
            # a branch that was right is read again, in a row of the next round
            gains = [value * (1.0 - row) - row for value in values]
            best = max(range(len(gains)), key=gains.__getitem__, default=None)
            worth = best is not None and gains[best] > 0
            found.append(best if worth else None)
            n_rows += worth
        return found

    def drafted(self, drafter: Drafter, n_sequences: int, n_behind: int, seconds: float) -> None:
        self.cost.observe_level(drafter.kind, n_sequences, n_behind, seconds)

    def observe(self, outcome: Outcome) -> None:
        self.cost.observe_pass(outcome.n_rows, outcome.n_cells, outcome.verify_s)
        tokens, seconds = 0, self.cost.pass_s(outcome.n_rows)
        depth = {v.draft.kind: 0 for v in outcome.verdicts}
        for verdict in outcome.verdicts:
            self._learn(verdict)
            tokens += len(verdict.tokens)
            kind = verdict.draft.kind
            depth[kind] = max(depth[kind], verdict.draft.n_proposed)
        for kind, n_levels in depth.items():
            if n_levels and not self._is_free(drafter := self._drafters[kind]):
                seconds += (1 if drafter.at_once else n_levels) * self._level_s(drafter)
        self._tokens = _MEMORY * self._tokens + tokens
        self._seconds = _MEMORY * self._seconds + seconds
        if not any(depth.values()):
            self._plain_rounds += 1
            self._since_draft += 1
        elif self._probing:
            self._since_draft = 0
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        elif any(v.draft.tokens for v in outcome.verdicts):
            self._since_draft, self._pause = 0, _FIRST_PAUSE

    def prefilled(self, n_tokens: int, seconds: float) -> None:
        self.cost.observe_reading(n_tokens, seconds)
        # another text: what the last one brought says little about it
        if self._seconds > 0 and self.cost.measured:
            fade = min(1.0, _KEPT_ROUNDS * self.cost.pass_s(1) / self._seconds)
            self._tokens, self._seconds = fade * self._tokens, fade * self._seconds

    def state(self) -> dict[str, Any]:
        """What was learned, as JSON values, to be kept for the next start."""
        speedup = self._best_rate() * self.cost.pass_s(1) if self.cost.measured else 1.0
        return {
            "speedup": speedup,
            "cost": self.cost.state(),
            "calibrations": {key: c.state() for key, c in self.calibrations.items()},
            "outlooks": {key: o.state() for key, o in self._outlooks.items()},
            "runners_up": {key: c.state() for key, c in self._runners_up.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Begin with what was kept.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the state is not one of ours.
        """
        cost = CostTable()
        cost.restore(state["cost"])
        calibrations = {key: Calibration() for key in state["calibrations"]}
        for key, calibration in calibrations.items():
            calibration.restore(state["calibrations"][key])
        outlooks = {key: Outlook() for key in state["outlooks"]}
        for key, outlook in outlooks.items():
            outlook.restore(state["outlooks"][key])
        runners_up = {key: Calibration() for key in state.get("runners_up", {})}
        for key, calibration in runners_up.items():
            calibration.restore(state["runners_up"][key])
        speedup = positive(state["speedup"])
        self.cost, self.calibrations, self._outlooks = cost, calibrations, outlooks
        self._runners_up = runners_up
        if cost.measured:
            self._plain_rounds = _WARM_UP
            self._seconds = _KEPT_ROUNDS * cost.pass_s(1)
            self._tokens = _KEPT_ROUNDS * speedup

    # What a draft, or a token more of it, is worth: in tokens, time counted at the best rate.

    def _best_rate(self) -> float:
        """λ, in tokens a second: what rounds bring, and never less than plain ones would."""
        n = max(len(self._round), 1)
        plain = n / self.cost.pass_s(n)
        return max(plain, self._tokens / self._seconds) if self._seconds else plain

    def _prospect(self, draft: Draft, drafter: Drafter) -> Prospect:
        """What a draft by this drafter in the place of one is worth."""
        return self._ahead(Draft(draft.sequence, draft.limit, kind=drafter.kind), drafter)

    def _ahead(self, draft: Draft, drafter: Drafter) -> Prospect:
        """What it is worth to let a draft grow, at the best depth."""
        chances = self._chances(draft)
        last = draft.confidences[-1] if draft.tokens else None
        outlook, acceptances = self._outlook(draft), self._calibration(draft).by_bin()
        place = outlook.after(last, missed=self._text(draft).missed)
        rate, level = self._best_rate(), _OPTION * self._level_s(drafter)
        beside = [d for d in self._round if d.sequence is not draft.sequence]
        n_rows = self._n_rows([*beside, draft])
        now = self.cost.pass_s(n_rows)
        room = min(draft.limit - len(draft.tokens), self._untried(n_rows))
        start = chances[-1] if chances else 1.0, place
        best = NO_PROSPECT
        for depth in _DEPTHS if last is None else _FURTHER:
            if depth <= room:
                row = (self.cost.pass_s(n_rows + depth) - now) / depth
                levels = [rate * level] + [0.0 if drafter.at_once else rate * level] * (depth - 1)
                found = expected(outlook, acceptances, start, levels, rate * row)
                best = max(best, found)
        return best

    def _untried(self, n_rows: int) -> int:
        """Most rows to add: a width that was never tried is not much more than the widest that was, and the
        first row beside a plain pass is tried alone."""
        widest = self.cost.widest
        return 1 if widest <= len(self._round) else max(widest * _WIDER - n_rows, 1)

    def _margins(self, chances: list[list[float]], n_rows: int) -> list[float]:
        """Gain of verifying the likeliest 1, 2, … proposals beside `n_rows` rows."""
        rate, now, total = self._best_rate(), self.cost.pass_s(n_rows), 0.0
        margins = []
        for n, (chance, _) in enumerate(by_chance(chances)[: self._untried(n_rows)], 1):
            total += chance
            margins.append(total - rate * (self.cost.pass_s(n_rows + n) - now))
        return margins

    def _saves(self, draft: Draft, prospect: Prospect) -> float:
        """Seconds that drafting may save over the rest of an answer."""
        s = draft.sequence
        left = max(s.n_generated, _UNKNOWN_REST)
        if s.max_tokens is not None:
            left = min(left, s.max_tokens - s.n_generated)
        return left / (1.0 + prospect.tokens) * prospect.gain / self._best_rate()

    def _chances(self, draft: Draft) -> list[float]:
        """For each proposal, the chance that it and all before it are accepted."""
        if not draft.tokens:
            return []
        calibration = self._calibration(draft)
        chances, chance = [], 1.0
        for confidence in draft.confidences:
            chance *= calibration.acceptance(confidence)
            chances.append(chance)
        return chances

    def _branch_values(self, draft: Draft) -> list[float]:
        """For each proposal the chance that it is the first wrong one and its runner-up is right: the token
        after that is what a branch brings."""
        chances = [1.0, *self._chances(draft)]
        of_runners_up = self._calibration_of_runners_up(draft)
        return [
            (before - kept) * of_runners_up.acceptance(share_of_rest(confidence, second))
            for before, kept, confidence, (_, second) in zip(
                chances, chances[1:], draft.confidences, draft.runners_up, strict=False
            )
        ]

    def _calibration_of_runners_up(self, draft: Draft) -> Calibration:
        return self._runners_up.setdefault(self._key(draft.kind, draft), Calibration())

    def _catching_up_s(self, draft: Draft, drafter: Drafter) -> float:
        n_behind = drafter.n_behind(draft.sequence)
        if n_behind <= 2:
            return 0.0
        return n_behind * self.cost.reading_s(drafter.kind, drafter.relative_cost)

    def _level_s(self, drafter: Drafter) -> float:
        return self.cost.level_s(drafter.kind, drafter.relative_cost, max(len(self._round), 1))

    def _is_free(self, drafter: Drafter) -> bool:
        return self._level_s(drafter) < _FREE * self.cost.pass_s(1)

    @staticmethod
    def _n_rows(drafts: list[Draft]) -> int:
        return sum(draft.sequence.n_pending + len(draft.tokens) for draft in drafts)

    def _key(self, kind: str, draft: Draft) -> str:
        greedy = draft.sequence.sampler.params.temperature <= 0
        return f"{kind} {'greedy' if greedy else 'sampled'}"

    def _calibration(self, draft: Draft) -> Calibration:
        return self.calibrations.setdefault(self._key(draft.kind, draft), Calibration())

    def _outlook(self, draft: Draft) -> Outlook:
        key, outlooks = self._key(draft.kind, draft), self._text(draft).outlooks
        if key not in outlooks:
            outlooks[key] = self._outlook_on_all(key).of_a_text()
        return outlooks[key]

    def _outlook_on_all(self, key: str) -> Outlook:
        return self._outlooks.setdefault(key, Outlook())

    def _text(self, draft: Draft) -> _Text:
        s = draft.sequence
        text = self._texts.get(s.seq_id)
        if text is None or text.sequence is not s:
            text = self._texts[s.seq_id] = _Text(s)
        return text

    def _learn(self, verdict: Verdicts) -> None:
        draft = verdict.draft
        if not draft.n_proposed:
            return
        calibration, text = self._calibration(draft), self._text(draft)
        outlooks = self._outlook(draft), self._outlook_on_all(self._key(draft.kind, draft))
        last = None
        confidences = draft.confidences + draft.spare_confidences
        for confidence in confidences:
            for outlook in outlooks:
                outlook.observe(outlook.after(last, missed=text.missed), confidence)
            last = confidence
        judgements = verdict.judgements
        for confidence, right in zip(confidences, judgements, strict=False):
            calibration.observe(confidence, accepted=right)
        if judgements and not judgements[-1]:
            i = len(judgements) - 1
            token, second = draft.runners_up[i]
            if token >= 0:
                share = share_of_rest(confidences[i], second)
                right = token == verdict.tokens[i]
                self._calibration_of_runners_up(draft).observe(share, accepted=right)
        text.missed = verdict.n_accepted < verdict.n_tested
