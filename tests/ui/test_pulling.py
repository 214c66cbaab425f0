"""A pull is shown with rate and time left, at any width, and as plain lines off the terminal."""

import io
import time
from collections.abc import Iterator

import pyte
import pytest
from rich.console import Console

from localspec.events import Notice, PullEvent, PullFinished, PullProgress
from localspec.ui.pulling import show_pull

_LONG = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
_MB = 1_000_000


def _plain(events: list[PullEvent]) -> str:
    out = io.StringIO()
    show_pull(events, console=Console(file=out, width=80))
    return out.getvalue()


def test_off_the_terminal_plain_lines_and_no_control_characters() -> None:
    text = _plain(
        [
            Notice("Hugging Face cannot be reached (x).", "Do this."),
            PullProgress("a.gguf", 300 * _MB, 1200 * _MB, 300 * _MB),
            PullFinished("a.gguf", "/cache/a.gguf", "Hugging Face, org/a", cached=False),
            PullFinished("b.gguf", "/cache/b.gguf", "package b", cached=True),
        ]
    )
    assert text.splitlines() == [
        "Hugging Face cannot be reached (x).",
        "Do this.",
        "a.gguf: 300.0 MB of 1.20 GB are here already",
        "a.gguf is complete and checked (Hugging Face, org/a): /cache/a.gguf",
        "b.gguf is already here (package b): /cache/b.gguf",
    ]


def test_rate_and_time_left_leave_out_what_an_earlier_pull_brought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 MB from before would else be shown as a rate of gigabytes a second."""
    now = iter([100.0, 100.0, 110.0])
    monkeypatch.setattr("localspec.ui.pulling.time.monotonic", lambda: next(now))
    text = _plain(
        [
            PullProgress("a.gguf", 300 * _MB, 1200 * _MB, 300 * _MB),
            PullProgress("a.gguf", 400 * _MB, 1200 * _MB, 300 * _MB),
        ]
    )
    assert text.splitlines()[-1] == "a.gguf: 400.0 MB of 1.20 GB, 10.0 MB/s, 1 min 20 s left"


def test_a_name_from_the_net_cannot_steer_the_screen() -> None:
    text = _plain([PullFinished("\x1b[2Ja[red].gguf", "/x", "Hugging Face", cached=True)])
    assert "\x1b" not in text and "[red]" in text


def test_the_finished_files_are_returned() -> None:
    end = PullFinished("a", "/a", "package a", cached=True)
    assert show_pull([Notice("x"), end], console=Console(file=io.StringIO())) == [end]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_two_bars_take_two_lines_at_any_width(width: int) -> None:
    out = io.StringIO()
    screens: list[list[str]] = []

    def events() -> Iterator[PullEvent]:
        for step in range(1, 4):
            yield PullProgress(_LONG, step * 40 * _MB, 1117 * _MB)
            yield PullProgress("b.gguf", step * 10 * _MB, 491 * _MB)
            time.sleep(0.12)
        screen = pyte.Screen(width, 10)
        pyte.Stream(screen).feed(out.getvalue().replace("\n", "\r\n"))
        screens.append([line for line in screen.display if line.strip()])

    show_pull(events(), console=Console(file=out, width=width, force_terminal=True, height=10))
    first, second = screens[0]
    assert first.startswith("qwen2.5") and second.startswith("b.gguf")
    assert all("/s" in line for line in (first, second))
