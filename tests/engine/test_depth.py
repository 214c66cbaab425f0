"""The depth policies against machines whose costs are known."""

import random
from collections.abc import Callable

import pytest

from localspec.engine.calibration import Calibration
from localspec.engine.depth import (
    DepthPolicy,
    FixedDepth,
    NoDraft,
    Outcome,
    ThresholdDepth,
    Verdicts,
)
from localspec.engine.drafters.base import Draft
from localspec.engine.margin import MarginDepth
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.params import SamplingParams

GREEDY = SamplingParams(temperature=0.0)


class MadeUp:
    """A drafter of which only the cost and the confidence matter.

    Args:
        level_s: seconds of a level of drafts, in plain passes.
        kind: its name.
    """

    at_once = False
    reads_states = False

    def __init__(self, level_s: float, kind: str = "draft-model") -> None:
        self.kind = kind
        self.level_s = level_s
        self.relative_cost = 0.3 if level_s else 0.0
        self.behind = 1

    def n_behind(self, sequence: Sequence) -> int:
        return self.behind


class Machine:
    """Runs a policy as the loop does, on costs and texts that are made up.

    Args:
        policy: decides.
        pass_s: seconds of a pass by rows.
        drafters: cheapest first.
        texts: for each sequence, the chance that a proposal is right, drawn for each place in it; the
            drafter's confidence is that chance. Every policy meets the same text.
    """

    def __init__(
        self,
        policy: DepthPolicy,
        pass_s: Callable[[int], float],
        drafters: list[MadeUp],
        texts: list[Callable[[random.Random], float]],
    ) -> None:
        self.policy, self.pass_s, self.drafters, self.texts = policy, pass_s, drafters, texts
        self.dice = random.Random(3)
        self.sequences = [
            Sequence(i, [1] * 100, Sampler(GREEDY), n_prompt=10, n_past=99)
            for i in range(len(texts))
        ]
        self.seconds = 0.0
        self.tokens = 0
        self.verified: list[list[int]] = []
        self.rows: list[int] = []
        self.drafted_by: list[str] = []

    def round(self, stall: float = 0.0) -> None:
        policy = self.policy
        drafts = [Draft(s, policy.max_depth) for s in self.sequences]
        policy.plan(drafts)
        for i, drafter in enumerate(self.drafters):
            growing = [d for d in drafts if d.limit and not d.tokens and policy.starts(d, drafter)]
            for d in growing:
                d.kind = drafter.kind
            asked = list(growing)
            n_behind = sum(drafter.n_behind(d.sequence) for d in growing)
            while growing:
                for d in growing:
                    d.propose(0, self.place(d.sequence, len(d.tokens))[0])
                self.seconds += drafter.level_s
                policy.drafted(drafter, len(growing), n_behind, drafter.level_s)
                n_behind = len(growing)
                growing = [d for d in growing if len(d.tokens) < d.limit and policy.more(d)]
            for other in self.drafters[i + 1 : i + 2]:
                for j, d in enumerate(drafts):
                    if d in asked and d.tokens and not policy.prefers(d, other):
                        drafts[j] = Draft(d.sequence, d.limit)
        for d, n in zip(drafts, policy.allot(drafts), strict=True):
            d.cut(n)
        n_rows = sum(1 + len(d.tokens) for d in drafts)
        verify = self.pass_s(n_rows) * self.dice.uniform(0.97, 1.03)
        verdicts = []
        for d in drafts:
            accepted = 0
            while accepted < len(d.tokens) and self.place(d.sequence, accepted)[1]:
                accepted += 1
            tested = min(accepted + 1, len(d.tokens))
            self.tokens += accepted + 1
            # every proposal is a 0: what is right is written as one
            new = [0] * accepted + [0 if self.place(d.sequence, accepted)[1] else 1]
            d.sequence.tokens += [1] * (accepted + 1)
            d.sequence.n_past = len(d.sequence.tokens) - 1
            verdicts.append(Verdicts(d, tested, accepted, new))
        self.seconds += verify
        policy.observe(Outcome(n_rows, 500, verify + stall, verdicts))
        self.verified.append([len(d.tokens) for d in drafts])
        self.rows.append(n_rows)
        self.drafted_by += [d.kind for d in drafts if d.tokens]

    def place(self, sequence: Sequence, n_ahead: int) -> tuple[float, bool]:
        """Confidence of the proposal for a place of the text, and whether it is right."""
        dice = random.Random(len(sequence.tokens) + n_ahead + 1_000_000 * sequence.seq_id)
        chance = self.texts[sequence.seq_id](dice)
        return chance, dice.random() < chance

    def run(self, n_rounds: int = 400, stall: float = 0.0) -> float:
        """Tokens/s relative to plain decoding on the same machine."""
        self.seconds, self.tokens = 0.0, 0
        for i in range(n_rounds):
            self.round(stall if stall and i % 25 == 7 else 0.0)
        plain = len(self.texts) / self.pass_s(len(self.texts))
        return self.tokens / self.seconds / plain


def steady(chance: float) -> Callable[[random.Random], float]:
    return lambda dice: chance


def mixed(dice: random.Random) -> float:
    """Mostly certain tokens with doubtful ones between them, as texts are."""
    return dice.choice((0.99, 0.99, 0.99, 0.95, 0.9, 0.6, 0.3))


def on(
    policy: DepthPolicy, pass_s: Callable[[int], float], level_s: float, *texts: Callable
) -> Machine:
    return Machine(policy, pass_s, [MadeUp(level_s)], list(texts))


def test_stays_plain_where_a_row_costs_as_much_as_a_pass() -> None:
    """Two cores and k-quants: drafting loses, and the loss of finding out must stay small."""
    machine = on(MarginDepth(8), float, 0.6, steady(0.6))
    assert machine.run() > 0.97
    assert sum(n > 0 for (n,) in machine.verified) < 20


def test_drafts_deep_where_rows_are_free() -> None:
    machine = on(MarginDepth(8), lambda n: 1 + 0.02 * n, 0.05, steady(0.9))
    assert machine.run() > 3.0
    assert sorted(n for (n,) in machine.verified)[200] >= 5


@pytest.mark.parametrize("level_s", [0.05, 0.15, 0.3])
@pytest.mark.parametrize("slope", [0.02, 0.1, 0.3])
def test_beats_every_fixed_depth_and_threshold(level_s: float, slope: float) -> None:
    """Each chosen afterwards for the machine; the policy knows nothing beforehand."""

    def pass_s(n: int) -> float:
        return 1 + slope * (n - 1)

    rivals = [FixedDepth(n) for n in range(9)]
    rivals += [ThresholdDepth(8, p) for p in (0.4, 0.5, 0.7, 0.9)]
    best = max(on(rival, pass_s, level_s, mixed).run(1500) for rival in rivals)
    assert on(MarginDepth(8), pass_s, level_s, mixed).run(1500) > 0.99 * best


def test_one_stall_does_not_poison_the_estimate() -> None:
    """A busy neighbour makes a pass take ten times as long now and then."""
    machine = on(MarginDepth(8), lambda n: 1 + 0.05 * n, 0.1, steady(0.85))
    assert machine.run(stall=20.0) > 2.0
    assert sum(n == 0 for (n,) in machine.verified) < 40


def test_notices_when_the_text_turns_unpredictable() -> None:
    chances = [0.95]
    machine = on(MarginDepth(8), lambda n: 1 + 0.3 * n, 0.3, lambda dice: chances[0])
    machine.run(200)
    chances[0] = 0.05
    machine.verified.clear()
    machine.run(200)
    after = [n for (n,) in machine.verified[50:]]
    assert sum(after) / len(after) < 0.2


def test_notices_when_the_text_turns_predictable_again() -> None:
    chances = [0.05]
    machine = on(MarginDepth(8), lambda n: 1 + 0.1 * n, 0.2, lambda dice: chances[0])
    machine.run(200)
    chances[0] = 0.97
    machine.verified.clear()
    assert machine.run(600) > 1.3


def test_uses_the_steps_of_a_machine() -> None:
    """Where five to eight rows cost the same, a draft of four is never verified by half."""

    def pass_s(n: int) -> float:
        return 1.0 if n <= 4 else 1.8

    machine = on(MarginDepth(7), pass_s, 0.02, steady(0.97))
    machine.run(300)
    later = [n for (n,) in machine.verified[100:]]
    assert sum(n in (3, 7) for n in later) > 0.9 * len(later)


def test_a_long_prompt_is_not_read_for_a_short_answer() -> None:
    """The drafter would have to read 3,000 tokens first, to save a few passes of the target."""
    machine = on(MarginDepth(8), lambda n: 1 + 0.1 * n, 0.2, steady(0.8))
    machine.drafters[0].behind = 3000
    machine.sequences[0].max_tokens = machine.sequences[0].n_generated + 30
    machine.run(20)
    assert not machine.drafted_by


def test_rows_go_to_the_draft_that_is_worth_them() -> None:
    """Two sequences in one pass, one predictable and one not."""
    policy = MarginDepth(8)
    machine = on(policy, lambda n: 1 + 0.08 * (n - 2), 0.05, steady(0.97), steady(0.25))
    speed = machine.run(300)
    good = sum(n for n, _ in machine.verified[50:])
    bad = sum(n for _, n in machine.verified[50:])
    assert good > 8 * bad
    equal = max(
        on(FixedDepth(n), machine.pass_s, 0.05, steady(0.97), steady(0.25)).run(300)
        for n in range(9)
    )
    assert speed > 1.1 * equal


def test_a_text_is_judged_by_itself() -> None:
    """What the drafter is expected to be sure of is not averaged over a good and a bad text."""
    machine = on(MarginDepth(8), lambda n: 1 + 0.1 * (n - 1), 0.3, steady(0.95), steady(0.1))
    assert machine.run(400) > 1.08
    assert sum(good for good, _ in machine.verified) > 1000


def test_look_up_is_taken_where_it_is_worth_more_than_the_model() -> None:
    """A sure look-up costs nothing to make; a poor one must not keep the model from drafting."""
    for chance, winner in ((0.97, "lookup"), (0.1, "draft-model")):
        policy = MarginDepth(6)
        lookup, model = MadeUp(0.0, "lookup"), MadeUp(0.15)
        machine = Machine(policy, lambda n: 1 + 0.1 * n, [lookup, model], [lambda dice: 0.85])

        def text(dice: random.Random, chance: float = chance, m: Machine = machine) -> float:
            kinds = [d.kind for d in m.policy._round]  # type: ignore[attr-defined]
            return chance if kinds == ["lookup"] else 0.85

        machine.texts[0] = text
        machine.run(200)
        assert machine.drafted_by.count(winner) > 0.9 * len(machine.drafted_by), winner


def sure_or_lost(dice: random.Random) -> float:
    """A drafter that knows when it knows: its average says nothing about its next token."""
    return dice.choice((0.99, 0.2))


def test_a_draft_is_weighed_by_what_it_may_turn_out_to_be_worth() -> None:
    """On average a token brings less than its row costs; those that look sure bring more."""

    def pass_s(n: int) -> float:
        return 1 + 0.55 * (n - 1)

    threshold = on(ThresholdDepth(8, 0.9), pass_s, 0.1, sure_or_lost).run()
    policy = MarginDepth(8)
    machine = on(policy, pass_s, 0.1, sure_or_lost)
    machine.run(100)
    assert threshold > 1.05
    assert machine.run() > 0.99 * threshold


@pytest.mark.parametrize(("per_token_s", "drafts"), [(0.002, True), (2.0, False)])
def test_what_a_drafter_takes_to_read_is_known_from_the_target(
    per_token_s: float, drafts: bool
) -> None:
    policy = MarginDepth(8)
    drafter = MadeUp(0.1)
    drafter.behind = 300
    machine = Machine(policy, lambda n: 1 + 0.02 * n, [drafter], [steady(0.9)])
    policy.prefilled(300, 300 * per_token_s)
    for _ in range(4):
        machine.round()
    assert bool(machine.drafted_by) is drafts


def test_a_pass_is_not_far_wider_than_any_before() -> None:
    machine = on(MarginDepth(16), lambda n: 1.0 + 0.01 * n, 0.001, steady(0.99))
    machine.run(30)
    widest = 1
    for rows in machine.rows:
        assert rows <= 4 * widest
        widest = max(widest, rows)
    assert widest == 17


def test_finding_out_what_rows_cost_is_cheap() -> None:
    """Free drafts on a machine where rows are dear: one row is tried, once."""
    machine = Machine(
        MarginDepth(16), lambda n: 1 + 0.6 * (n - 1), [MadeUp(0.0, "lookup")], [steady(0.4)]
    )
    machine.run(60)
    assert [n for n in machine.rows if n > 1] == [2]
    assert machine.run(400) > 0.99


def test_a_new_prompt_lets_the_rate_of_the_last_text_go() -> None:
    def rate_after(*, new_prompt: bool) -> float:
        policy = MarginDepth(8)
        machine = on(policy, lambda n: 1 + 0.05 * n, 0.05, steady(0.97))
        machine.run(100)
        if new_prompt:
            policy.prefilled(100, 1.0)
        machine.texts[0] = steady(0.05)
        machine.run(12)
        return float(policy.state()["speedup"])

    assert rate_after(new_prompt=True) < 0.8 * rate_after(new_prompt=False)


def test_what_was_learned_is_there_at_the_next_start() -> None:
    first = MarginDepth(8)
    on(first, lambda n: 1 + 0.1 * n, 0.2, mixed).run(300)
    second = MarginDepth(8)
    second.restore(first.state())
    machine = on(second, lambda n: 1 + 0.1 * n, 0.2, mixed)
    machine.round()
    assert machine.verified[0][0] > 0, "no plain round is needed to know what plain rounds cost"
    assert second.cost.pass_s(1) == pytest.approx(first.cost.pass_s(1), rel=0.05)


@pytest.mark.parametrize(
    "state", [{}, {"cost": {}}, {"cost": {"passes": {"x": {}}, "levels": {}, "reading": {}}}]
)
def test_a_damaged_state_leaves_the_policy_as_it_was(state: dict) -> None:
    policy = MarginDepth(8)
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        policy.restore(state)
    assert not policy.cost.measured


@pytest.mark.parametrize(
    ("proposals", "verified", "written", "expected"),
    [
        ([5, 6, 7], 3, [5, 6, 7, 8], [True, True, True]),
        ([5, 6, 7], 1, [5, 6], [True, True]),
        ([5, 6, 7], 1, [5, 9], [True, False]),
        ([5, 6, 7], 2, [4], [False]),
        ([5, 6, 7], 0, [5], [True]),
        ([5, 6, 7], 0, [9], [False]),
        ([], 0, [9], []),
    ],
)
def test_what_was_not_verified_is_judged_by_what_was_written(
    proposals: list[int], verified: int, written: list[int], expected: list[bool]
) -> None:
    draft = Draft(Sequence(0, [1], Sampler(GREEDY)), 8, kind="x")
    for proposal in proposals:
        draft.propose(proposal, 0.4)
    draft.cut(verified)
    n = len(written) - 1
    verdict = Verdicts(draft, min(n + 1, verified), n, written)
    assert verdict.judgements == expected
    policy = MarginDepth(8)
    policy.plan([draft])
    policy.starts(draft, MadeUp(0.1, "x"))
    policy.observe(Outcome(1 + verified, 10, 1.0, [verdict]))
    tests = [sum(c.tests) for c in policy.calibrations.values()]
    fresh = sum(Calibration().tests)
    assert tests == ([fresh + len(expected)] if proposals else [])


def test_fixed_depth_and_no_draft() -> None:
    draft = Draft(Sequence(0, [1], Sampler(GREEDY)), 8, [1, 2, 3], [0.9, 0.2, 0.9])
    assert NoDraft().max_depth == 0
    assert FixedDepth(3).allot([draft]) == [3]
    assert ThresholdDepth(8, 0.5).allot([draft]) == [1]
    assert not ThresholdDepth(8, 0.5).more(Draft(draft.sequence, 8, [1], [0.4]))
    assert ThresholdDepth(8, 0.5).more(Draft(draft.sequence, 8, [1], [0.6]))
