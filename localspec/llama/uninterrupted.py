"""Ctrl-C during a call into llama.cpp that calls us back.

Python raises KeyboardInterrupt wherever it runs next, and inside a callback from C that exception is
lost. So while such a call runs, Ctrl-C only sets a flag, and is raised when the call is over.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Uninterrupted:
    """Whether Ctrl-C was pressed meanwhile."""

    def __init__(self) -> None:
        self.requested = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.requested = True


@contextmanager
def uninterrupted() -> Iterator[Uninterrupted]:
    """Hold Ctrl-C back until the block is over; in another thread than the main one, do nothing.

    Raises:
        KeyboardInterrupt: at the end, if Ctrl-C was pressed.
    """
    state = Uninterrupted()
    if threading.current_thread() is not threading.main_thread():
        yield state
        return
    former = signal.signal(signal.SIGINT, state.note)
    try:
        yield state
    finally:
        signal.signal(signal.SIGINT, former)
    if state.requested:
        raise KeyboardInterrupt
