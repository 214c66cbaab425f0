"""How a fetching thread tells how far it is, and learns that it should stop.

One meter per file. It knows nothing of where bytes come from; events go to the queue of `crew.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from localspec.events import PullEvent, PullProgress

_INTERVAL_S = 0.1


class Stopped(Exception):
    """The pull was given up while this thread was at work. Never leaves the thread."""


class Meter:
    """Counts the bytes of one file and emits `PullProgress`, ten times a second at most."""

    def __init__(
        self, file: str, total: int | None, emit: Callable[[PullEvent], None], stop: threading.Event
    ) -> None:
        self.file = file
        self.total = total
        self.emit = emit
        self._stop = stop
        self._resumed = 0
        self._shown = 0
        self._next = 0.0

    def start(self, resumed: int) -> None:
        """Say that the file starts, with `resumed` bytes of an earlier pull already there."""
        self._resumed = self._shown = resumed
        self._next = 0.0
        self.at(resumed)

    def at(self, done: int) -> None:
        """Note that `done` bytes are there. Raises `Stopped` if the pull was given up.

        Between two starts the figure never falls, and never passes the total: the bytes of a
        packed part stand for its own until it is unpacked.
        """
        self.check()
        done = self._shown = max(self._shown, done if self.total is None else min(done, self.total))
        now = time.monotonic()
        if now >= self._next or done == self.total:
            self._next = now + _INTERVAL_S
            self.emit(PullProgress(self.file, done, self.total, min(self._resumed, done)))

    def check(self) -> None:
        """Raise `Stopped` if the pull was given up."""
        if self._stop.is_set():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait before another try. Raises `Stopped` if the pull was given up."""
        if self._stop.wait(seconds):
            raise Stopped
