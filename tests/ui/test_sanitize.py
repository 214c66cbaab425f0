"""What a model writes cannot steer the terminal it is shown on."""

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.ui.sanitize import TerminalText, safe_for_terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with\ttab\nand line", "plain, with\ttab\nand line"),
        ("\x1b[2J\x1b]0;title\x07", "^[[2J^[]0;title^G"),
        ("a\bb\x00\x7f", "a^Hb^@^?"),
        ("\x9b31mred", "<U+009B>31mred"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("\v\f", "^K^L"),
        ("safe\u202egpj.exe\u2066", "safe<U+202E>gpj.exe<U+2066>"),
        ("a\u2028b", "a\nb"),
        ("\ud83d!", "\ufffd!"),
        # Joiners, marks and right-to-left text are how people write.
        ("👩‍👩‍👧 é שלום \u200f", "👩‍👩‍👧 é שלום \u200f"),
        ("", ""),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert safe_for_terminal(text) == shown


def test_a_return_at_the_end_of_a_piece_is_one_new_line() -> None:
    text = TerminalText()
    assert [text.feed(part) for part in ("a\r", "\nb\r", "", "c\r", "\r\n")] == [
        "a\n",
        "b\n",
        "",
        "c\n",
        "\n",
    ]


@given(
    parts=st.lists(
        st.sampled_from(["\r", "\n", "\r\n", "\x1b", "a", "\u202e", "é", "\x85"]), max_size=9
    ),
    cuts=st.lists(st.integers(0, 18), max_size=6),
)
def test_cutting_the_text_anywhere_changes_nothing(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    places = sorted({0, *(min(cut, len(text)) for cut in cuts), len(text)})
    stream = TerminalText()
    shown = "".join(stream.feed(text[a:b]) for a, b in itertools.pairwise(places))
    assert shown == safe_for_terminal(text)


@given(st.text(st.characters(exclude_categories=[])))
def test_no_control_character_gets_through(text: str) -> None:
    shown = safe_for_terminal(text)
    assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cs")} - {"\n", "\t"}
    assert not {
        c for c in shown if unicodedata.bidirectional(c) in ("LRO", "RLO", "LRE", "RLE", "PDF")
    }
