"""The line while model files are being opened comes and goes."""

import sys
from collections.abc import Callable, Iterator

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from localspec.events import Loading
from localspec.ui.bench import BenchLine
from localspec.ui.loading import LoadingLine
from tests.ui.screen import Terminal


@pytest.fixture
def on_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Terminal]]:
    """Puts standard error on a terminal; called in the test, since pytest sets its own before."""
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Terminal(60, 10)

    def put() -> Terminal:
        monkeypatch.setattr(sys, "stderr", screen)
        return screen

    yield put
    monkeypatch.undo()
    screen.close()


def test_line_is_gone_at_the_end(on_screen: Callable[[], Terminal]) -> None:
    """Guards a screen that begins with the answer."""
    terminal = on_screen()
    with LoadingLine() as show:
        show(Loading("target", "model.gguf", 0.25))
        assert "loading the target:  25% model.gguf" in terminal.rows()[-1]
    assert terminal.rows() == []
    assert terminal.cursor() == (0, 0)


def test_quiet(on_screen: Callable[[], Terminal]) -> None:
    """Guards -q."""
    terminal = on_screen()
    with LoadingLine(quiet=True) as show:
        show(Loading("drafter", "model.gguf", 0.5))
    assert terminal.n_draws == 0


def test_nothing_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards a log file against progress."""
    with LoadingLine() as show:
        show(Loading("target", "model.gguf", 0.5))
    assert capsys.readouterr() == ("", "")


def test_a_benchmark_says_how_far_it_is(on_screen: Callable[[], Terminal]) -> None:
    terminal = on_screen()
    with BenchLine() as line:
        line.show(0, 8, "p\x1b[31m", "plain", None)
        assert terminal.rows()[-1] == "answer 1 of 8: plain on p^[[31m"
    with BenchLine() as line:
        line.show(8, 8, "q", "auto", 130.0)
        assert terminal.rows()[-1] == "answer 8 of 8: auto on q, about 2 min left"
    assert terminal.rows() == []
