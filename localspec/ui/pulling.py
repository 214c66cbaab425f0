"""Draws files on their way here: bars on a terminal, plain lines elsewhere, all on stderr.

Events in, terminal out. It knows nothing of the Hub, of packages or of the disk.
"""

import time
from collections.abc import Iterable

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from localspec.events import Notice, PullEvent, PullFinished, PullProgress
from localspec.ui.sanitize import safe_for_terminal

_LINE_EVERY_S = 5.0


def show_pull(
    events: Iterable[PullEvent], *, quiet: bool = False, console: Console | None = None
) -> list[PullFinished]:
    """Draw `events` as they come and return the files that are complete.

    Args:
        quiet: draw nothing.
        console: where to draw; stderr if None.
    """
    console = console or Console(stderr=True, quiet=quiet)
    if console.is_terminal and not console.is_dumb_terminal:
        return _bars(events, console)
    return _lines(events, console)


def _bars(events: Iterable[PullEvent], console: Console) -> list[PullFinished]:
    finished: list[PullFinished] = []
    tasks: dict[str, TaskID] = {}
    with Progress(*_columns(console.width), console=console, expand=True) as progress:
        for event in events:
            match event:
                case PullProgress(file, done, total):
                    if file not in tasks:
                        # Bytes of an earlier pull are where the bar starts, they are no speed.
                        name = safe_for_terminal(file)
                        tasks[file] = progress.add_task(name, total=total, completed=done)
                    progress.update(tasks[file], completed=done, total=total)
                case PullFinished():
                    if event.file in tasks:
                        progress.remove_task(tasks.pop(event.file))
                    finished.append(event)
                    _say(console, _end(event))
                case Notice():
                    _say(console, *_notice(event))
    return finished


def _columns(width: int) -> list[ProgressColumn]:
    """Name, bar, bytes, rate, time left; on a narrow screen the bar goes first, then the bytes."""
    name = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False, table_column=name)
    ]
    if width >= 90:
        columns.append(BarColumn(bar_width=24))
    if width >= 60:
        columns.append(DownloadColumn(table_column=Column(no_wrap=True)))
    columns.append(TransferSpeedColumn(table_column=Column(no_wrap=True)))
    columns.append(TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)))
    return columns


def _lines(events: Iterable[PullEvent], console: Console) -> list[PullFinished]:
    finished: list[PullFinished] = []
    rates: dict[str, _Rate] = {}
    for event in events:
        match event:
            case PullProgress(file):
                if file not in rates:
                    rates[file] = _Rate(event)
                if line := rates[file].line(event):
                    _say(console, line)
            case PullFinished():
                finished.append(event)
                _say(console, _end(event))
            case Notice():
                _say(console, *_notice(event))
    return finished


class _Rate:
    """Decides when a plain line is due, and works out rate and time left for it."""

    def __init__(self, first: PullProgress) -> None:
        self._began = time.monotonic()
        self._from = first.done
        self._due = 0.0

    def line(self, event: PullProgress) -> str | None:
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + _LINE_EVERY_S
        text = f"{event.file}: {_size(event.done)}"
        if event.total is not None:
            text += f" of {_size(event.total)}"
        rate = (event.done - self._from) / max(now - self._began, 1e-9)
        if event.done <= self._from:
            return text + (" are here already" if event.resumed else "")
        if event.total is not None:
            left = (event.total - event.done) / rate
            return f"{text}, {_size(rate)}/s, {_duration(left)} left"
        return f"{text}, {_size(rate)}/s"


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(Text(safe_for_terminal(line)), soft_wrap=True)


def _end(event: PullFinished) -> str:
    how = "is already here" if event.cached else "is complete and checked"
    return f"{event.file} {how} ({event.source}): {event.path}"


def _notice(event: Notice) -> list[str]:
    return [event.message] + ([event.hint] if event.hint else [])


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
