"""One answer on a screen: colours, thought, figures, and what is shown when it ends early."""

import sys
from collections.abc import Callable, Iterator

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from localspec.events import Notice, PrefillProgress, ReasoningDelta, RoundDone, TextDelta
from localspec.ui.answer import AnswerView
from tests.ui.screen import Terminal, finished, numbers, streamed

Screens = Callable[..., Terminal]


@pytest.fixture
def on_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screens]:
    """Puts the named streams on one new terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    made = []

    def put(*names: str, encoding: str = "utf-8") -> Terminal:
        terminal = Terminal(70, 12, encoding)
        made.append(terminal)
        for name in names or ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, terminal)
        return terminal

    yield put
    monkeypatch.undo()
    for terminal in made:
        terminal.close()


SUMMARY = [
    "3 tokens · 23.4 tokens/s · 1.85 × plain · 87 % accepted",
    "3.41 tokens/round · first token after 0.25 s",
    "40 prompt tokens (12 still in memory) · drafter: draft-model",
]


def test_answer(on_screen: Screens) -> None:
    """Guards the usual case, and the missing new line at the end of most answers."""
    terminal = on_screen()
    with AnswerView() as view:
        for event in [*streamed("Hello,\nworld"), finished()]:
            view.show(event)
    assert terminal.rows() == ["Hello,", "world", *SUMMARY]
    assert terminal.cursor() == (0, 5)
    assert terminal.colors() == {"default"}


def test_live_numbers(on_screen: Screens) -> None:
    """Guards what the status line says, and that "× plain" is blank until it was measured."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(PrefillProgress(256, 512, 12))
        assert terminal.rows()[-1] == "reading the prompt: 256/512 tokens · 12 were still in memory"
        view.show(TextDelta("Hello\n"))
        view.show(RoundDone(4, 3, numbers()))
        assert terminal.rows()[0] == "Hello"
    assert terminal.rows() == ["Hello"]


def test_no_made_up_speed_up(on_screen: Screens) -> None:
    """Guards promise 3: no plain round, no "× plain"."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("Hello"))
        view.show(finished(times_plain=None))
    assert "plain" not in " ".join(terminal.rows())


@pytest.mark.parametrize(
    ("reason", "words"),
    [("length", "token limit"), ("context", "context is full"), ("cancelled", "stopped")],
)
def test_reason(reason: str, words: str, on_screen: Screens) -> None:
    """Guards that an answer that is cut off says so."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("Hello"))
        view.show(finished(reason=reason))
    assert words in " ".join(terminal.rows())


@pytest.mark.parametrize(
    ("env", "color"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_drafts_are_coloured(
    env: dict[str, str], color: bool, on_screen: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards --show-drafts, and those who asked for no colour."""
    terminal = on_screen()
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with AnswerView(show_drafts=True) as view:
        view.show(TextDelta("mine "))
        view.show(TextDelta("drafted", drafted=True))
        view.show(TextDelta(" mine"))
    assert terminal.rows() == ["mine drafted mine"]
    assert ("green" in terminal.colors()) == color


def test_forced_colour_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards FORCE_COLOR, by which a pager gets colours; without it a pipe gets none."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for forced in (False, True):
        if forced:
            monkeypatch.setenv("FORCE_COLOR", "1")
        else:
            monkeypatch.delenv("FORCE_COLOR", raising=False)
        with AnswerView(show_drafts=True) as view:
            view.show(TextDelta("drafted", drafted=True))
        assert ("\x1b[32m" in capsys.readouterr().out) == forced


def test_thought_before_the_answer(on_screen: Screens) -> None:
    """Guards that the thought is told from the answer."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(ReasoningDelta("Hm, let me"))
        view.show(ReasoningDelta(" see."))
        view.show(TextDelta("42"))
    assert terminal.rows() == ["Hm, let me see.", "", "42"]


def test_thought_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards a piped answer against the thought."""
    with AnswerView() as view:
        view.show(ReasoningDelta("Hm."))
        view.show(TextDelta("42"))
    assert capsys.readouterr() == ("42\n", "Hm.\n\n")


def test_status_on_standard_error_alone(
    on_screen: Screens, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards `localspec run … > answer.md` in a terminal: figures there, the text in the file."""
    terminal = on_screen("stderr")
    with AnswerView() as view:
        view.show(TextDelta("an answer\r\n\x1b[31m"))
        view.show(RoundDone(4, 3, numbers()))
        assert "21.5 tokens/s" in terminal.rows()[-1]
        view.show(finished())
    assert capsys.readouterr().out == "an answer\r\n\x1b[31m\n"
    assert terminal.rows() == SUMMARY


def test_no_status_between_text_where_figures_go_elsewhere(
    on_screen: Screens, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards `2> log` in a terminal: the screen shows the text alone."""
    terminal = on_screen("stdout")
    with AnswerView() as view:
        for event in [*streamed("Hello"), finished()]:
            view.show(event)
    assert terminal.rows() == ["Hello"]
    assert terminal.n_draws == 0
    assert "23.4 tokens/s" in capsys.readouterr().err


def test_model_cannot_steer_the_terminal(on_screen: Screens) -> None:
    """Guards against escape sequences in the answer, in two pieces too."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("a\x1b"))
        view.show(TextDelta("[2Jb\rc"))
    assert terminal.rows() == ["a^[[2Jb", "c"]


def test_stopped(on_screen: Screens) -> None:
    """Guards the summary of a stopped answer, and the word that was not finished."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("Hel"))
        view.show(RoundDone(4, 3, numbers()))
        view.stopped()
    rows = terminal.rows()
    assert rows[0] == "Hel"
    assert rows[1].startswith("stopped · 21.5 tokens/s · 1.85 × plain")
    assert len(rows) == 3


LOREM = "It was a dark and stormy night; the rain fell in torrents, except at occasional intervals."


def test_lines_break_between_words(on_screen: Screens) -> None:
    """Guards an answer on a screen, thought and colours too, against words cut in two."""
    terminal = on_screen()
    with AnswerView(show_drafts=True) as view:
        for event in [ReasoningDelta(LOREM), *streamed(LOREM), finished()]:
            view.show(event)
    first = "It was a dark and stormy night; the rain fell in torrents, except at"
    both = [first, "occasional intervals."]
    assert terminal.rows()[:5] == [*both, "", *both]
    assert "green" in terminal.colors()


def test_no_word_is_held_back_beyond_its_end(on_screen: Screens) -> None:
    """Guards the stream: what can be placed is shown at once, and the rest before a notice."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("one two thr"))
        assert terminal.rows() == ["one two"]
        view.show(TextDelta("ee "))
        assert terminal.rows() == ["one two three"]
        view.show(TextDelta("four"))
        view.show(Notice("Careful."))
        assert terminal.rows() == ["one two three four", "Careful."]


def test_a_pipe_beside_a_terminal_gets_no_break(
    on_screen: Screens, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards `> answer.md` in a narrow window."""
    on_screen("stderr")
    with AnswerView() as view:
        for event in [*streamed(LOREM), finished()]:
            view.show(event)
    assert capsys.readouterr().out == LOREM + "\n"


def test_legend(on_screen: Screens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards --show-drafts: what the colour means, or that there is none."""
    for env, words in [({}, "Green: drafted, and accepted."), ({"NO_COLOR": "1"}, "in colour")]:
        terminal = on_screen()
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        with AnswerView(show_drafts=True) as view:
            view.show(finished())
        assert words in terminal.rows()[-1]
        with AnswerView(show_drafts=True, legend=False) as view:
            view.show(finished())
        assert terminal.rows()[-1] == SUMMARY[-1]


def test_stopped_before_the_first_word(on_screen: Screens) -> None:
    """Guards Ctrl-C while the prompt is read: no figures there are, and no "^C" stays."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(PrefillProgress(1, 9, 0))
        terminal.write("^C")
        view.stopped()
    assert terminal.rows() == ["stopped"]


def test_notice_between_text(on_screen: Screens) -> None:
    """Guards a notice on a line of its own."""
    terminal = on_screen()
    with AnswerView() as view:
        view.show(TextDelta("one"))
        view.show(RoundDone(4, 3, numbers()))
        view.show(Notice("[bold]careful", "Do this"))
        view.show(TextDelta("two"))
    assert terminal.rows() == ["one", "[bold]careful", "  Do this", "two"]


def test_encoding_of_the_terminal(on_screen: Screens) -> None:
    """Guards a terminal that is not UTF-8."""
    terminal = on_screen(encoding="ascii")
    with AnswerView() as view:
        view.show(TextDelta("\u6f22 e\u0301"))
        view.show(finished())
    assert terminal.rows()[0] == "? e?"
    assert "1.85 x plain |" in terminal.rows()[1]
