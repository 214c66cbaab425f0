"""Stop strings end the text at the same character however it arrives."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from localspec.chat.stops import StopStrings


def shown(chunks: list[str], stops: tuple[str, ...]) -> tuple[str, bool]:
    looking, text, stopped = StopStrings(stops), "", False
    for chunk in chunks:
        new, stopped = looking.feed(chunk)
        text += new
    return text + looking.finish(), stopped


def by_definition(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """Read character by character; the first complete stop string ends it, the longest if several."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if stop and text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))], True
    return text, False


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        ("one\n\ntwo", ("\n\n",), ("one", True)),
        ("one\ntwo", ("\n\n",), ("one\ntwo", False)),
        ("ends with a half: EN", ("END",), ("ends with a half: EN", False)),
        ("aab", ("ab",), ("a", True)),
        ("xabc", ("abc", "b"), ("xa", True)),
        ("xabc", ("abc", "bc", "c"), ("x", True)),
        ("text", (), ("text", False)),
        ("text", ("",), ("text", False)),
    ],
)
def test_the_text_ends_before_the_stop_string(
    text: str, stops: tuple[str, ...], expected: tuple[str, bool]
) -> None:
    assert shown([text], stops) == expected
    assert shown(list(text), stops) == expected


def test_nothing_comes_after_the_stop() -> None:
    looking = StopStrings(("X",))
    assert looking.feed("aXb") == ("a", True)
    assert looking.feed("c") == ("", True)
    assert looking.finish() == ""


def test_text_that_cannot_become_a_stop_is_not_held_back() -> None:
    looking = StopStrings(("###",))
    assert looking.feed("a##") == ("a", False)
    assert looking.feed("b#") == ("##b", False)
    assert looking.finish() == "#"


letters = st.text("abc", max_size=4)


@given(
    text=st.text("abc", max_size=20),
    stops=st.lists(letters, max_size=4).map(tuple),
    cuts=st.lists(st.integers(0, 20), max_size=8),
)
@example(text="aabab", stops=("aba", "bab"), cuts=[2, 3])
def test_cutting_the_text_anywhere_changes_nothing(
    text: str, stops: tuple[str, ...], cuts: list[int]
) -> None:
    places = sorted({0, *(min(cut, len(text)) for cut in cuts), len(text)})
    chunks = [text[a:b] for a, b in itertools.pairwise(places)]
    assert shown(chunks, stops) == by_definition(text, stops)
