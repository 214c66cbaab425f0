"""Results stay within their bound, valid and readable."""

import dataclasses
import datetime
import enum
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from localspec.tools.results import as_text, bounded


@dataclasses.dataclass
class Point:
    x: int
    tag: str


class City(BaseModel):
    name: str
    at: Point


class Colour(str, enum.Enum):  # noqa: UP042 - as files of users have it
    RED = "red"


class Odd:
    def __str__(self) -> str:
        return "odd"


_CIRCLE: list[object] = []
_CIRCLE.append(_CIRCLE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('"text" as it is', '"text" as it is'),
        (Colour.RED, "red"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"ä": [1, None]}, '{"ä":[1,null]}'),
        ((1, "x"), '[1,"x"]'),
        (Point(1, "ü"), '{"x":1,"tag":"ü"}'),
        ([City(name="Ulm", at=Point(1, "t"))], '[{"name":"Ulm","at":{"x":1,"tag":"t"}}]'),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        ({"on": datetime.date(2024, 1, 2)}, '{"on":"2024-01-02"}'),
        (PurePosixPath("/a/b"), "/a/b"),
        (Odd(), "odd"),
        ([Odd()], '["odd"]'),
        (_CIRCLE, "[[...]]"),
        (b"\xff", "b'\\xff'"),
    ],
)
def test_values_as_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_what_is_short_enough_stays() -> None:
    assert bounded("x" * 16_000) == "x" * 16_000
    assert bounded("äöü", 3) == "äöü"


def test_the_middle_is_left_out_and_counted() -> None:
    text = "".join(f"{i:05d}" for i in range(10_000))
    cut = bounded(text, 1000)
    assert len(cut) <= 1000
    head, note, tail = cut.split("\n")
    assert text.startswith(head) and text.endswith(tail)
    assert len(head) > len(tail) > 100
    assert note == f"[… {len(text) - len(head) - len(tail):,} characters left out …]"


@given(st.text(max_size=400), st.integers(60, 300))
def test_the_bound_holds(text: str, limit: int) -> None:
    assert len(bounded(text, limit)) <= limit


def test_halves_of_characters() -> None:
    assert bounded("a\ud83d\ude00b") == "a😀b"
    assert bounded("a\ud83db\ude00") == "a\ufffdb\ufffd"


@given(st.text(st.characters(codec=None)), st.integers(60, 100))
def test_all_of_it_has_utf8(text: str, limit: int) -> None:
    assert bounded(text, limit).encode("utf-8") is not None
