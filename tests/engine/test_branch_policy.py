"""Where the policy that learns lets a draft branch."""

from localspec.engine.depth import Outcome, Verdicts
from localspec.engine.drafters.base import Draft
from localspec.engine.margin import MarginDepth
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from tests.engine.test_depth import GREEDY, MadeUp


def branches(row_s: float, *runners_up: float, confidences: tuple[float, ...]) -> int | None:
    """Where a policy branches that knows a pass of one row (1 s) and of others (`row_s` more each)."""
    policy = MarginDepth(8)
    for n_rows in range(1, 9):
        policy.cost.observe_pass(n_rows, 100, 1.0 + row_s * (n_rows - 1))
    draft = Draft(Sequence(0, [1] * 10, Sampler(GREEDY), n_prompt=5, n_past=9), 8, kind="made up")
    for confidence, second in zip(confidences, runners_up, strict=True):
        draft.propose(0, confidence, (1, second))
    policy.plan([draft])
    (found,) = policy.branches([draft])
    return found


def test_a_branch_goes_where_it_is_worth_most() -> None:
    """The least certain proposal, if all before it is likely and its runner-up takes most of the rest."""
    assert branches(0.01, 0.02, 0.45, 0.04, confidences=(0.97, 0.5, 0.95)) == 1
    assert branches(0.01, 0.4, 0.45, 0.04, confidences=(0.5, 0.5, 0.95)) == 0


def test_no_branch_where_a_row_costs_more_than_it_brings() -> None:
    assert branches(0.4, 0.02, 0.45, 0.04, confidences=(0.97, 0.5, 0.95)) is None
    assert branches(0.01, 0.0, 0.0, 0.0, confidences=(0.999, 0.999, 0.999)) is None
    assert branches(0.0, confidences=()) is None


def test_runners_up_are_learned_from_what_was_written_in_place_of_the_proposal() -> None:
    policy = MarginDepth(8)
    policy.cost.observe_pass(1, 100, 1.0)
    policy.starts(Draft(Sequence(0, [1], Sampler(GREEDY)), 8), MadeUp(0.1, "made up"))
    sequence = Sequence(0, [1] * 10, Sampler(GREEDY), n_prompt=5, n_past=9)
    values = []
    for written in (7, 9):
        for _ in range(200):
            draft = Draft(sequence, 8, kind="made up")
            draft.propose(5, 0.5, (7, 0.3))
            policy.observe(Outcome(2, 100, 1.0, [Verdicts(draft, 1, 0, [written])]))
        values.append(policy._branch_values(draft)[0])
    right, wrong = values
    assert right > 0.8 and wrong < 0.5 * right
