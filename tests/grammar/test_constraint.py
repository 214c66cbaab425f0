"""One answer on its way through a grammar, on a vocabulary of bytes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.errors import LocalspecError
from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.tokens import GrammarTokens
from tests.grammar.plain_vocab import PlainVocab

VOCAB = PlainVocab(markers=["<a>"], words=["yes", "no"], ends=["<stop>"])
TOKENS = GrammarTokens(VOCAB)
ROW = np.zeros(VOCAB.n_tokens, np.float32)
GRAMMAR = 'start: ("yes" | "no") ("," ("yes" | "no"))*'
YES, NO = 256, 257


def allowed(constraint: GrammarConstraint) -> set[int]:
    return set(np.flatnonzero(np.isfinite(constraint.masked(ROW))).tolist())


def made(grammar: str = GRAMMAR, said: str = "") -> GrammarConstraint:
    return GrammarConstraint(TOKENS, grammar, said)


def test_what_is_asked_ahead_leaves_no_trace() -> None:
    constraint = made()
    before = allowed(constraint.at([]))
    assert before == {YES, NO, ord("y"), ord("n")}
    assert allowed(constraint.at([YES])) == {ord(","), *VOCAB.ends}
    assert allowed(constraint.at([YES, ord(",")])) == before
    assert allowed(constraint.at([NO])) == {ord(","), *VOCAB.ends}
    assert allowed(constraint.at([])) == before


def test_what_is_taken_stays() -> None:
    constraint = made()
    constraint.at([NO, ord(",")])
    constraint.take([YES])
    assert allowed(constraint.at([])) == {ord(","), *VOCAB.ends}
    constraint.take([ord(","), NO])
    assert constraint.at([]).n_allowed([YES]) == 0


def test_an_end_is_allowed_where_the_answer_may_end() -> None:
    constraint = made()
    end = VOCAB.eos
    assert constraint.at([]).n_allowed([end]) == 0
    assert constraint.at([]).n_allowed([YES, end]) == 2
    assert constraint.at([]).n_allowed([YES, end, YES]) == 2
    assert constraint.at([]).n_allowed([YES, ord(","), end]) == 2
    assert allowed(constraint.at([])) == {YES, NO, ord("y"), ord("n")}
    constraint.take([YES, end])


def test_an_end_is_allowed_where_nothing_else_is() -> None:
    constraint = made('start: "yes"')
    assert constraint.at([YES]).n_allowed([VOCAB.eos]) == 1
    assert allowed(constraint.at([YES])) == VOCAB.ends


def test_a_way_that_is_not_allowed_leads_nowhere() -> None:
    constraint = made()
    place = constraint.at([YES, YES])
    assert place.n_allowed([ord(",")]) == 0
    assert place.forced(8) == []
    with pytest.raises(LocalspecError, match="no way to go on"):
        place.masked(ROW)
    assert constraint.at([YES]).n_allowed([ord(",")]) == 1


def test_what_is_forced() -> None:
    constraint = made('start: "{" ("yes" | "no") "}"')
    assert bytes(constraint.at([]).forced(8)) == b"{"
    assert constraint.at([]).forced(0) == []
    assert bytes(constraint.at([ord("{"), ord("n")]).forced(8)) == b"o}"
    assert constraint.at([ord("{")]).forced(8) == []


def test_it_begins_after_what_the_prompt_has_said() -> None:
    assert made(said="yes,").at([]).n_allowed([NO]) == 1
    assert made(said="yes").at([]).n_allowed([NO]) == 0


def test_markers_are_no_text() -> None:
    constraint = made("start: /(.|\\n)*/")
    (marker,) = VOCAB.tokenize("<a>")
    assert marker not in allowed(constraint.at([]))
    assert constraint.at([]).n_allowed(list(b"<a>")) == 3


def test_a_grammar_that_cannot_be_followed_is_said() -> None:
    with pytest.raises(LocalspecError, match="cannot be followed"):
        made("start: nothing")


@given(st.lists(st.sampled_from([YES, NO, ord(","), ord("n"), ord("o")]), max_size=12), st.data())
def test_asking_is_the_same_as_going(ids: list[int], data: st.DataObject) -> None:
    """However it is asked, a place depends on the tokens before it alone."""
    constraint = made()
    n = constraint.at([]).n_allowed(ids)
    for _ in range(4):
        cut = data.draw(st.integers(0, n))
        fresh = made()
        fresh.take(ids[:cut])
        assert allowed(constraint.at(ids[:cut])) == allowed(fresh.at([]))
    if n < len(ids):
        assert ids[n] not in allowed(constraint.at(ids[:n]))


def test_json_in_a_grammar() -> None:
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}})
    constraint = made(f"start: %json {schema}")
    assert constraint.at([]).n_allowed(list(b'{"a": 5}')) == 8
    assert constraint.at([]).n_allowed(list(b'{"a": "')) == 6
