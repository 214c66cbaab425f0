"""The words of the two lines: figures that were measured, and no others, in the room there is."""

import pytest

from localspec.events import LiveNumbers, PrefillProgress
from localspec.ui.status import live_line, prefill_line, stopped_line, summary_line
from tests.ui.screen import finished, numbers

FULL = "21.5 tokens/s · 1.85 × plain · 87 % accepted · 3.41 tokens/round · context 120/8192"


def test_all_figures() -> None:
    """Guards the line of a wide terminal."""
    assert live_line(numbers(), 200) == FULL


@pytest.mark.parametrize("cells", range(20, 100))
def test_figures_go_whole_from_the_right(cells: int) -> None:
    """Guards against "context 120/81": a figure cut to another figure."""
    line = live_line(numbers(), cells)
    assert len(line) <= cells
    assert line == FULL or FULL.startswith(line + " · ")


def test_nothing_measured_is_nothing_said() -> None:
    """Guards promise 3 in the first moments of an answer."""
    line = live_line(LiveNumbers(None, None, None, None, 12, 8192), 200)
    assert line == "context 12/8192"


def test_ascii() -> None:
    """Guards a terminal whose encoding lacks the signs."""
    assert live_line(numbers(), 200, ascii_only=True).isascii()
    assert summary_line(finished(), ascii_only=True).isascii()
    assert stopped_line(numbers(), ascii_only=True).isascii()


def test_prefill() -> None:
    """Guards that only tokens from memory are called so."""
    assert prefill_line(PrefillProgress(3, 9, 0), 80) == "reading the prompt: 3/9 tokens"
    assert "2 were still in memory" in prefill_line(PrefillProgress(3, 9, 2), 80)


def test_time_to_the_first_token() -> None:
    """Guards the figure that the user waits for."""
    assert "first token after 0.25 s" in summary_line(finished())


def test_stopped_without_figures() -> None:
    """Guards Ctrl-C before the first round."""
    assert stopped_line(None) == "stopped"
