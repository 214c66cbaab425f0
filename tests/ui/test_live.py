"""The status line never spoils the text, at any width, with any characters, through resizes."""

import io
import random
import sys
from collections.abc import Callable

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from localspec.ui.live import LiveText
from tests.ui.screen import Terminal, plain_rows

LATIN = "The quick brown fox jumps over the lazy dog.\n\n  * a list\n\tand a tab\tin it\n"
WIDE = (
    "\u6f22\u5b57\u306e\u6587\u7ae0\u306f\u5e45\u304c\u4e8c\u500d\u3067\u3059\u3002" * 5
    + "a"
    + "\u97d3\uad6d\uc5b4 \ud55c\uae00" * 9
    + "\n"
)
COMBINING = (
    "e\u0301a\u0308o\u0302 cafe\u0301 re\u0301sume\u0301 \u0939\u093f\u0928\u094d\u0926\u0940 " * 8
    + "\n"
)
EMOJI = (
    "\U0001f680 go \U0001f44d\U0001f3fd ok \u2764\ufe0f \U0001f468\u200d\U0001f469\u200d\U0001f467 x \U0001f1e9\U0001f1ea "
    * 6
    + "\n"
)
EXACT = "0123456789" * 16 + "\n" + "\u6f22" * 80 + "\n"
TEXTS = {
    "latin": LATIN * 5,
    "wide": WIDE,
    "combining": COMBINING,
    "emoji": EMOJI,
    "ends of rows": EXACT,
    "no new line": "word " * 60,
}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Terminal]:
    """Makes terminals of a size."""
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal


def pieces_of(text: str, seed: int) -> list[str]:
    """`text` cut anywhere, also between a letter and its accent."""
    pick, pieces = random.Random(seed), []
    while text:
        n = pick.randint(1, 6)
        pieces.append(text[:n])
        text = text[n:]
    return pieces


def always() -> Callable[[], float]:
    """A clock by which a redraw is due at every look: the hardest case."""
    ticks = iter(range(10**9))
    return lambda: float(next(ticks))


@pytest.mark.parametrize("columns", [1, 2, 19, 20, 40, 80, 200])
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_what_it_would_be_alone(
    name: str, columns: int, terminal: Callable[[int, int], Terminal]
) -> None:
    """Guards against lost, doubled or overwritten characters, and remains in the scrollback."""
    pieces = pieces_of(TEXTS[name] if columns > 2 else TEXTS[name][:50], columns)
    screen = terminal(columns, 5)
    with LiveText(screen, clock=always()) as live:
        for i, piece in enumerate(pieces):
            live.write(piece)
            live.status(lambda n, i=i: f"STATUS {i} " + "#" * (n - 20))
    assert screen.rows() == plain_rows(pieces, columns, 5)
    assert (screen.n_draws > 0) == (columns >= 20)


@pytest.mark.parametrize("columns", range(20, 41))
def test_every_width(columns: int, terminal: Callable[[int, int], Terminal]) -> None:
    """Guards the moment where the text ends exactly at the last column."""
    text = ("ab\u6f22 " * 16 + "\n") * 2
    screen = terminal(columns, 5)
    with LiveText(screen, clock=always()) as live:
        for character in text:
            live.write(character)
            live.status(lambda n: "#" * n)
    assert screen.rows() == plain_rows(text, columns, 5)


def test_status_is_right_below_the_text(terminal: Callable[[int, int], Terminal]) -> None:
    """Guards that there is a line at all, also when the text fills the screen."""
    screen = terminal(40, 6)
    with LiveText(screen, clock=always()) as live:
        for i in range(20):
            live.write(f"line {i}\n")
            live.write("text")
            live.status(lambda n: "STATUS")
            assert screen.rows()[-2:] == ["text", "STATUS"]
            live.write("\n")
        live.clear_status()
        assert "STATUS" not in screen.rows()


def test_status_is_redrawn_ten_times_a_second(terminal: Callable[[int, int], Terminal]) -> None:
    """Guards against flicker: 100 updates within one tick are one drawing."""
    screen = terminal(40, 6)
    with LiveText(screen, clock=lambda: 5.0) as live:
        for i in range(100):
            live.status(lambda n, i=i: f"STATUS {i}")
    assert screen.n_draws == 1


@pytest.mark.parametrize(("columns", "lines"), [(19, 24), (80, 4), (0, 0)])
def test_tiny_terminals_get_none(
    columns: int, lines: int, terminal: Callable[[int, int], Terminal]
) -> None:
    """Guards against a line that takes most of the screen, and a size that is not known."""
    screen = terminal(80, 24)
    screen.resize(columns or 80, lines or 24)
    if not columns:
        import fcntl
        import termios

        fcntl.ioctl(screen.fileno(), termios.TIOCSWINSZ, b"\0" * 8)
    with LiveText(screen, clock=always()) as live:
        live.write("text")
        live.status(lambda n: "STATUS")
        assert screen.n_draws == 0


def test_no_status_until_the_size_is_calm(terminal: Callable[[int, int], Terminal]) -> None:
    """Guards the last character of a row: a further resize may be under way and not yet known."""
    now = 0.0
    screen = terminal(60, 10)
    with LiveText(screen, clock=lambda: now) as live:
        live.status(lambda n: "STATUS")
        screen.resize(50, 10)
        live.write("one\ntwo")
        assert "STATUS" not in screen.rows()
        now = 0.4
        live.write(" three")
        assert "STATUS" not in screen.rows()
        now = 0.6
        live.write(" four")
        assert screen.rows() == ["one", "two three four", "STATUS"]


def test_no_status_in_a_line_that_was_resized(
    terminal: Callable[[int, int], Terminal],
) -> None:
    """Guards the last character: where a narrower window has put the cursor is not known."""
    screen = terminal(60, 10)
    with LiveText(screen, clock=always()) as live:
        live.write("x" * 40)
        screen.resize(50, 10)
        for _ in range(5):
            live.status(lambda n: "STATUS")
        assert screen.n_draws == 0
        live.write("\n")
        assert screen.n_draws == 1


def test_resize_while_text_runs(terminal: Callable[[int, int], Terminal]) -> None:
    """Guards words and their order through 30 resizes on a screen that does not reflow."""
    pick = random.Random(3)
    screen = terminal(60, 20)
    with LiveText(screen, clock=always()) as live:
        for i in range(300):
            if i % 10 == 0:
                # Rows only grow here: pyte forgets rows that it takes away.
                screen.resize(pick.randint(60, 100), 20 + i // 30)
            live.write(f"w{i} " if i % 7 else f"w{i}\n")
            live.status(lambda n: "#" * n)
    shown = " ".join(screen.rows())
    assert "#" not in shown
    assert shown.split() == [f"w{i}" for i in range(300)]


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_dumb_terminal_gets_text_alone(
    term: str, terminal: Callable[[int, int], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a terminal that would print escape sequences."""
    monkeypatch.setenv("TERM", term or "dumb")
    if not term:
        monkeypatch.delenv("TERM")
    screen = terminal(40, 10)
    with LiveText(screen) as live:
        live.write("text")
        live.status(lambda n: "STATUS")
    assert screen.rows() == ["text"]
    assert screen.n_draws == 0


def test_error_while_status_is_shown(terminal: Callable[[int, int], Terminal]) -> None:
    """Guards the terminal after Ctrl-C or a fault: no line, cursor behind the text."""
    screen = terminal(40, 10)
    with pytest.raises(KeyboardInterrupt), LiveText(screen) as live:
        live.write("text")
        live.status(lambda n: "STATUS")
        assert "STATUS" in screen.rows()
        raise KeyboardInterrupt
    assert screen.rows() == ["text"]
    assert screen.cursor() == (4, 0)


def test_terminal_that_went_away() -> None:
    """Guards leaving: a closed stream must not hide the error that ended the answer."""
    stream = io.StringIO()
    with pytest.raises(KeyError), LiveText(stream) as live:
        live.can_draw = True
        live.write("text")
        stream.close()
        raise KeyError
