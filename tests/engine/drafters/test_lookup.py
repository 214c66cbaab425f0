"""The look-up drafter: what it proposes, how sure it is of it, what it keeps between turns."""

import pytest

from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.drafters.lookup import LookupDrafter, Reliability
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.engine.suffix import SuffixIndex
from localspec.params import SamplingParams

_LENGTHS = (1, 2, 3, 5, 8, 16, 40)


def _sequence(tokens: list[int], seq_id: int = 0) -> Sequence:
    return Sequence(seq_id, list(tokens), Sampler(SamplingParams()))


def _begun(drafter: LookupDrafter, tokens: list[int], seq_id: int = 0) -> Sequence:
    sequence = _sequence(tokens, seq_id)
    drafter.begin(sequence)
    return sequence


def _draft(drafter: LookupDrafter, sequence: Sequence, limit: int = 4) -> Draft:
    draft = Draft(sequence, limit)
    offered = drafter.draft([draft])
    assert offered == ([draft] if draft.tokens else [])
    return draft


def _settle(drafter: LookupDrafter, draft: Draft, kept: list[int]) -> None:
    """The target writes `kept`, of which the common start with the draft counts as accepted."""
    pairs = zip(draft.tokens, kept, strict=False)
    same = [proposed == token for proposed, token in pairs] + [False]
    draft.sequence.tokens += kept
    drafter.accept(draft, same.index(False))


@pytest.fixture
def drafter() -> LookupDrafter:
    return LookupDrafter()


def test_it_is_a_drafter(drafter: LookupDrafter) -> None:
    """Guards the seam: the loop takes it as it takes any other (checked by mypy)."""
    seam: Drafter = drafter
    assert seam.kind == "lookup"


def test_longest_match_wins_over_a_later_shorter_one(drafter: LookupDrafter) -> None:
    """Guards the choice: 1 2 3 beats the later 3, and the draft is filled to its limit."""
    draft = _draft(drafter, _begun(drafter, [1, 2, 3, 7, 8, 9, 3, 5, 1, 2, 3]), 3)
    assert draft.tokens == [7, 8, 9]
    assert len(draft.confidences) == 3


def test_most_recent_of_equal_matches_wins(drafter: LookupDrafter) -> None:
    """Guards the choice among equals."""
    assert _draft(drafter, _begun(drafter, [1, 5, 1, 6, 1]), 1).tokens == [6]


def test_periodic_text_fills_any_limit(drafter: LookupDrafter) -> None:
    """Guards drafts that run past the end of the text."""
    draft = _draft(drafter, _begun(drafter, [1, 2, 1, 2]), 9)
    assert draft.tokens == [1, 2, 1, 2, 1, 2, 1, 2, 1]


def test_nothing_is_offered_for_a_new_token_or_a_full_draft(drafter: LookupDrafter) -> None:
    """Guards the loop's end: a draft that got nothing must not be asked for again."""
    assert _draft(drafter, _begun(drafter, [1, 2, 3])).tokens == []
    sequence = _begun(drafter, [1, 2, 1])
    assert _draft(drafter, sequence, 0).tokens == []
    draft = _draft(drafter, sequence)
    assert drafter.draft([draft]) == []
    assert len(draft.tokens) == 4
    begun_by_another = Draft(sequence, 4, [9], [0.5])
    assert drafter.draft([begun_by_another]) == []


def test_sequences_do_not_see_each_other(drafter: LookupDrafter) -> None:
    """Guards ragged batches: each draft comes from its own text."""
    one, two = _begun(drafter, [1, 2, 1], 0), _begun(drafter, [1, 3, 1], 1)
    three = _begun(drafter, [1, 2, 3], 2)
    drafts = [Draft(one, 1), Draft(two, 2), Draft(three, 2)]
    assert drafter.draft(drafts) == drafts[:2]
    assert [d.tokens for d in drafts] == [[2], [3, 1], []]


def test_the_answer_is_looked_up_too(drafter: LookupDrafter) -> None:
    """Guards growth: tokens of plain rounds and of drafts both go into the index, once."""
    sequence = _begun(drafter, [1, 2, 3])
    _settle(drafter, Draft(sequence, 0), [8])
    _settle(drafter, _draft(drafter, sequence), [9])
    _settle(drafter, _draft(drafter, sequence), [8])
    draft = _draft(drafter, sequence, 3)
    assert draft.tokens == [9, 8, 9]
    _settle(drafter, draft, [9, 8, 4])
    _settle(drafter, _draft(drafter, sequence), [3])
    assert sequence.tokens == [1, 2, 3, 8, 9, 8, 9, 8, 4, 3]
    assert _draft(drafter, sequence, 2).tokens == [8, 9]


def test_confidence_grows_with_the_match(drafter: LookupDrafter) -> None:
    """Guards the prior: short matches are poor, and each token of a draft lengthens its match."""
    assert [Reliability().of(n) for n in _LENGTHS] == sorted(Reliability().of(n) for n in _LENGTHS)
    draft = _draft(drafter, _begun(drafter, [1, 2, 3, 4, 5, 1]), 5)
    assert draft.confidences == [Reliability().of(n) for n in (1, 2, 3, 4, 5)]
    assert draft.confidences[0] < 0.4
    assert Reliability().of(40) > 0.9


def test_verdicts_move_only_what_was_tested(drafter: LookupDrafter) -> None:
    """Guards learning: kept proposals raise, the first refused one lowers, the rest stay."""
    sequence = _begun(drafter, [1, 2, 3, 4, 5, 1])
    before = _draft(drafter, sequence, 4)
    _settle(drafter, before, [2, 3, 7])
    after = _draft(drafter, _begun(drafter, [1, 2, 3, 4, 5, 1]), 4)
    assert after.confidences[0] > before.confidences[0]
    assert after.confidences[1] > before.confidences[1]
    assert after.confidences[2] < before.confidences[2]
    assert after.confidences[3] == before.confidences[3]


def test_an_answer_that_ends_inside_a_draft_refutes_nothing(drafter: LookupDrafter) -> None:
    """Guards calibration: what follows an end token was not tested."""
    before = _draft(drafter, _begun(drafter, [1, 2, 3, 1]), 2)
    _settle(drafter, before, [2])
    after = _draft(drafter, _begun(drafter, [1, 2, 3, 1]), 2)
    assert after.confidences[0] > before.confidences[0]
    assert after.confidences[1] == before.confidences[1]


def test_what_was_not_verified_is_judged_by_what_was_written(drafter: LookupDrafter) -> None:
    """Guards free learning: rounds that were plain, or another drafter's, tell whether it was right."""
    sequence = _begun(drafter, [1, 2, 1])
    before = _draft(drafter, sequence, 3)
    _settle(drafter, Draft(sequence, 1, [9], [0.5]), [2])
    again = _draft(drafter, _begun(drafter, [1, 2, 1]), 3)
    assert again.confidences[0] > before.confidences[0]
    assert again.confidences[1:] == before.confidences[1:]
    again.cut(0)
    drafter.accept(again, 0)
    assert _draft(drafter, _begun(drafter, [1, 2, 1]), 3).confidences == again.spare_confidences


def test_each_text_is_trusted_by_itself(drafter: LookupDrafter) -> None:
    """Guards edits beside prose: what one text repeats says little about another."""
    copied, new = _begun(drafter, [1, 2] * 3, 0), _begun(drafter, [1, 2] * 3, 1)
    for _ in range(30):
        _settle(drafter, _draft(drafter, copied, 2), [1, 2, 1][:2])
        _settle(drafter, _draft(drafter, new, 2), [len(new.tokens) + 10, 1, 2])
    sure, unsure = _draft(drafter, copied, 1), _draft(drafter, new, 1)
    assert sure.confidences[0] > 0.9
    assert unsure.confidences[0] < 0.4


def test_a_copy_goes_on_after_an_edit(drafter: LookupDrafter) -> None:
    """Guards rewriting: after a changed token the copy goes on near there, not where the same token came
    last; and a token after which nothing is known ends nothing."""
    source = [10, 11, 12, 13, 14, 15, 16, 17]
    sequence = _begun(drafter, [*source, 99, 14, 77, 99, *source[:3]])
    assert _draft(drafter, sequence, 2).tokens == [13, 14]
    _settle(drafter, _draft(drafter, sequence, 2), [50])  # 13 became 50
    _settle(drafter, _draft(drafter, sequence, 2), [14])
    resumed = _draft(drafter, sequence, 3)
    assert resumed.tokens == [15, 16, 17]
    assert resumed.confidences[0] > Reliability().of(1)


@pytest.mark.parametrize("truth", [0.05, 0.5, 0.98])
def test_confidence_converges_to_what_happens(truth: float) -> None:
    """Guards calibration: after some hundred verdicts the prior is forgotten."""
    reliability = Reliability()
    hits = 0
    for i in range(1, 1000):
        accepted = int(i * truth) > hits
        hits += accepted
        reliability.observe(4, accepted=accepted)
    assert reliability.of(4) == pytest.approx(truth, abs=0.05)
    assert reliability.of(6) == Reliability().of(6)


def test_next_turn_extends_the_index(
    drafter: LookupDrafter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards chat: a prompt that goes on from the last turn must not be indexed anew."""
    sequence = _begun(drafter, [1, 2, 3, 4])
    for _ in range(3):
        _settle(drafter, _draft(drafter, sequence), [5, 6])
    drafter.end(sequence)
    fed: list[int] = []
    append = SuffixIndex.append

    def watched(index: SuffixIndex, token: int) -> None:
        fed.append(token)
        append(index, token)

    monkeypatch.setattr(SuffixIndex, "append", watched)
    turn = _begun(drafter, [*sequence.tokens, 9, 2, 3])
    assert _draft(drafter, turn, 2).tokens == [4, 5]
    assert fed == [5, 6, 9, 2, 3]  # the last round's tokens were not asked about yet


def test_a_text_cut_back_is_forgotten(drafter: LookupDrafter) -> None:
    """Guards stopped answers: a tail that was dropped must not be proposed."""
    sequence = _begun(drafter, [1, 2, 3])
    _settle(drafter, _draft(drafter, sequence), [1, 7, 7])
    _draft(drafter, sequence)
    del sequence.tokens[4:]
    drafter.end(sequence)
    assert _draft(drafter, _begun(drafter, [1, 2, 3, 1]), 2).tokens == [2, 3]
    assert _draft(drafter, _begun(drafter, [7, 1, 2, 3, 7]), 2).tokens == [1, 2]
