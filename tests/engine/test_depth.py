"""The depth policy against machines whose costs are known."""

import random
from collections.abc import Callable

import pytest

from localspec.engine.depth import FixedDepth, MeasuredDepth, NoDraft, RoundCost, make_policy
from localspec.engine.drafters.base import Draft
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.params import DepthParams, SamplingParams


def simulate(
    policy: MeasuredDepth,
    pass_time: Callable[[int], float],
    draft_time: float,
    alpha: float,
    n_rounds: int = 400,
    stall: float = 0.0,
) -> tuple[float, list[int]]:
    """Run a policy on a made-up machine; returns tokens/s relative to plain, and the depths."""
    dice = random.Random(3)
    seconds = tokens = 0.0
    depths = []
    for i in range(n_rounds):
        depth = policy.plan()
        accepted = 0
        while accepted < depth and dice.random() < alpha:
            accepted += 1
        verify = pass_time(depth + 1) * dice.uniform(0.95, 1.05)
        seconds += verify + depth * draft_time
        tokens += accepted + 1
        if stall and i % 25 == 7:
            verify += stall
        tested = min(accepted + 1, depth)
        policy.observe(RoundCost(depth + 1, depth, tested, accepted, depth * draft_time, verify))
        depths.append(depth)
    return tokens / seconds * pass_time(1), depths


def test_stays_plain_where_a_row_costs_as_much_as_a_pass() -> None:
    """Two cores and k-quants: drafting loses, and the loss of finding out must stay small."""
    speed, depths = simulate(MeasuredDepth(8), lambda n: float(n), 0.6, 0.6)
    assert speed > 0.93
    assert sum(d > 0 for d in depths) < 30


def test_drafts_deep_where_rows_are_free() -> None:
    speed, depths = simulate(MeasuredDepth(8), lambda n: 1 + 0.02 * n, 0.05, 0.9)
    assert speed > 3.0
    assert sorted(depths)[len(depths) // 2] >= 5


def test_one_stall_does_not_poison_the_estimate() -> None:
    """A busy neighbour makes a pass take ten times as long now and then."""
    speed, depths = simulate(MeasuredDepth(8), lambda n: 1 + 0.05 * n, 0.1, 0.85, stall=20.0)
    assert speed > 2.0
    assert sum(d == 0 for d in depths) < 40


def test_notices_when_the_text_turns_unpredictable() -> None:
    policy = MeasuredDepth(8)
    simulate(policy, lambda n: 1 + 0.3 * n, 0.3, 0.95)
    _, depths = simulate(policy, lambda n: 1 + 0.3 * n, 0.3, 0.05)
    assert sum(depths[100:]) / len(depths[100:]) < 0.3


@pytest.mark.parametrize(
    ("depth", "kind"), [(None, MeasuredDepth), (0, NoDraft), (3, FixedDepth), (1, FixedDepth)]
)
def test_the_asked_policy_is_made(depth: int | None, kind: type) -> None:
    policy = make_policy(DepthParams(depth))
    assert type(policy) is kind
    if depth is not None:
        assert policy.plan() == depth


def drafted(confidences: list[float]) -> Draft:
    sequence = Sequence(0, [1, 2, 3], Sampler(SamplingParams()))
    return Draft(sequence, 8, list(range(len(confidences))), confidences)


def test_verifies_only_what_outweighs_its_row() -> None:
    """A look-up draft is free to make and still costs a row a token to verify."""
    policy = MeasuredDepth(8)
    for n_rows, seconds in ((1, 1.0), (1, 1.0), (1, 1.0), (2, 1.5), (4, 2.5)):
        n = n_rows - 1
        policy.observe(RoundCost(n_rows, n, min(n, 1), 0, 1e-6 * n, seconds))
    assert policy.plan() == 8
    assert policy.worth(drafted([0.99, 0.99, 0.99])) == 3
    assert policy.worth(drafted([0.2, 0.99, 0.99])) == 0
    assert policy.worth(drafted([0.9, 0.9, 0.1, 0.9])) == 2
