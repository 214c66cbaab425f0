"""The words of the two lines: figures that were measured, and no others, in the room there is."""

from dataclasses import replace

import pytest

from localspec.events import LiveNumbers, PrefillProgress
from localspec.ui.status import live_line, prefill_line, stopped_lines, summary_lines
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
    line = live_line(LiveNumbers(None, None, None, None, 12, 8192, 0, 0), 200)
    assert line == "context 12/8192"


def test_ascii() -> None:
    """Guards a terminal whose encoding lacks the signs."""
    assert live_line(numbers(), 200, ascii_only=True).isascii()
    assert summary_lines(finished(), 200, ascii_only=True)[0].isascii()
    assert stopped_lines(numbers(), 200, ascii_only=True)[0].isascii()


def test_prefill() -> None:
    """Guards that only tokens from memory are called so."""
    assert prefill_line(PrefillProgress(3, 9, 0), 80) == "reading the prompt: 3/9 tokens"
    assert "2 were still in memory" in prefill_line(PrefillProgress(3, 9, 2), 80)


def test_time_to_the_first_token() -> None:
    """Guards the figure that the user waits for."""
    assert "first token after 0.25 s" in summary_lines(finished(), 200)[0]


def test_stopped_without_figures() -> None:
    """Guards Ctrl-C before the first round."""
    assert stopped_lines(None, 80) == ["stopped"]


@pytest.mark.parametrize("cells", range(20, 160))
def test_summary_breaks_between_figures(cells: int) -> None:
    """Guards every figure against a row's end in its middle."""
    whole = summary_lines(finished(), 1 << 30)
    lines = summary_lines(finished(), cells)
    assert len(whole) == 1
    assert " · ".join(lines) == whole[0]
    assert all(len(line) <= cells or " · " not in line for line in lines)


def test_rounds_without_a_draft_are_said_where_they_are_most() -> None:
    """Guards against "100 % accepted" beside "1.04 tokens/round", which sounds like a contradiction."""
    few = replace(numbers(), rounds=50, drafted_rounds=3)
    line = "drafted in 3 of 50 rounds · 87 % accepted · 3.41 tokens/round"
    assert line in live_line(few, 200)
    assert line in summary_lines(replace(finished(), live=few), 500)[0]
    half = replace(numbers(), rounds=50, drafted_rounds=25)
    assert "drafted in" not in live_line(half, 200)
    none = replace(numbers(), acceptance_rate=None, rounds=50, drafted_rounds=0)
    end = replace(finished(), live=none)
    assert "drafted in 0 of 50 rounds" in summary_lines(end, 500)[0]
    without = replace(end, speculation=replace(end.speculation, drafter="none"))
    assert "drafted in" not in summary_lines(without, 500)[0]
