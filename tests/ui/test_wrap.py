"""Lines of an answer break between words, whatever pieces it comes in."""

import random
import sys
import textwrap

import pytest

from localspec.ui.columns import widest
from localspec.ui.wrap import WordWrap

PROSE = (
    "The quick brown fox, so they say, jumps over 13 lazy dogs.\n\nAnother paragraph - with a list:\n"
    "  * one\n  * two and some more words that go beyond the end of the row\n"
)


def wrapped(text: str, columns: int, seed: int | None = None) -> str:
    """What comes out, fed whole or in random pieces."""
    wrap, pick, out = WordWrap(), random.Random(seed), ""
    while text:
        n = len(text) if seed is None else pick.randint(1, 5)
        out += "".join(t for t, _ in wrap.feed(text[:n], "", columns))
        text = text[n:]
    return out + "".join(t for t, _ in wrap.flush())


@pytest.mark.parametrize("columns", range(20, 60))
def test_as_the_standard_library_wraps(columns: int) -> None:
    """The last column stays free for a cursor that would else wait there to wrap."""
    expected = "\n".join(
        textwrap.fill(line, columns - 1, break_on_hyphens=False) for line in PROSE.split("\n")
    )
    assert wrapped(PROSE, columns) == expected


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("columns", [20, 33, 80])
def test_pieces_do_not_matter(columns: int, seed: int) -> None:
    text = (
        PROSE
        + "漢字の文章は幅が二倍です。" * 4
        + "\n```\n"
        + "x = 1 " * 20
        + "\n```\n"
        + "word " * 30
    )
    assert wrapped(text, columns, seed) == wrapped(text, columns)


def test_wide_letters_count_twice_and_need_no_blank() -> None:
    rows = wrapped("漢字の文章は幅が二倍です。" * 4, 21).split("\n")
    assert all(16 <= widest(row) <= 20 for row in rows[:-1])
    assert all(row[0] != "。" for row in rows)
    assert "".join(rows) == "漢字の文章は幅が二倍です。" * 4


def test_fenced_code_is_left_to_the_terminal() -> None:
    """Copied code must not have gained a new line; prose after it wraps again."""
    code = "~~~~python\nresult = first(argument) + second(argument)\n~~~\nmore of it, long enough\n~~~~\n"
    assert wrapped(code, 20) == code
    assert wrapped(code + "and some prose that is long", 20) == (
        code + "and some prose that\nis long"
    )


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_word_longer_than_a_row_begins_a_row_and_stays_one(seed: int | None) -> None:
    url = "https://example.org/" + "x" * 50
    assert wrapped(f"see {url} there", 30, seed) == f"see\n{url} there"
    assert wrapped(url, 30, seed) == url


def test_only_the_unfinished_word_is_held_back() -> None:
    wrap = WordWrap()
    assert wrap.feed("one tw", "", 40) == [("one", "")]
    assert wrap.feed("o", "", 40) == []
    assert wrap.feed(" ", "", 40) == [(" two", "")]
    assert wrap.feed("x" * 40, "", 40) == [("\n" + "x" * 40, "")]
    assert wrap.feed("y", "", 40) == [("y", "")]


def test_styles_stay_with_their_letters() -> None:
    wrap = WordWrap()
    out = wrap.feed("one two thr", "A", 20) + wrap.feed("ee fourth", "B", 20)
    out += wrap.feed(" five", "A", 20) + wrap.flush()
    assert out == [
        ("one two", "A"),
        (" thr", "A"),
        ("ee", "B"),
        ("\n", ""),
        ("fourth", "B"),
        (" five", "A"),
    ]


@pytest.mark.parametrize("columns", [0, 1, 19])
def test_without_room_nothing_is_changed_or_held_back(columns: int) -> None:
    assert "".join(t for t, _ in WordWrap().feed(PROSE, "", columns)) == PROSE


def test_a_window_that_changes_loses_nothing() -> None:
    wrap, pick, out = WordWrap(), random.Random(4), ""
    words = [f"word{i}" for i in range(300)]
    for word in words:
        out += "".join(t for t, _ in wrap.feed(word + " ", "", pick.choice([0, 15, 20, 45, 80])))
    out += "".join(t for t, _ in wrap.flush())
    assert out.split() == words


if sys.platform != "win32":
    from localspec.events import RoundDone, TextDelta
    from localspec.ui.answer import AnswerView
    from tests.ui.screen import Terminal, numbers

    @pytest.mark.parametrize("columns", [*range(20, 46), 80])
    @pytest.mark.parametrize("n", [1, 4])
    def test_on_a_screen_with_a_status_line(
        columns: int, n: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Guards text and status line together at any width: rows are those of the wrapped text."""
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setattr("localspec.ui.live._REDRAW_EVERY_S", 0.0)
        text = PROSE + "漢字の文章は幅が二倍です。" * 4 + "\n" + "a \U0001f680 b " * 20
        screen = Terminal(columns, 6)
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, screen)
        with AnswerView() as view:
            for i in range(0, len(text), n):
                view.show(TextDelta(text[i : i + n]))
                view.show(RoundDone(4, 3, numbers()))
                assert "tokens/s" in "".join(screen.rows()) or screen.n_draws == 0
        monkeypatch.undo()
        expected = [row.rstrip() for row in wrapped(text, columns).rstrip().split("\n")]
        assert screen.rows() == expected
        assert screen.n_draws > 20
        screen.close()
