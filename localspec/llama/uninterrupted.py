"""Signals during a call into llama.cpp that calls us back.

Python runs their handlers wherever it is next, and what they raise inside a callback from C is lost. So
while such a call runs, they only set a flag, and are raised when the call is over.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from localspec.termination import SIGNALS


class Uninterrupted:
    """Which signal came meanwhile: Ctrl-C, or one that asks the process to end."""

    def __init__(self) -> None:
        self._number: int | None = None

    @property
    def requested(self) -> bool:
        """True once a signal came."""
        return self._number is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self._number = number

    def raise_again(self) -> None:
        """Do now what the signal would have done at once.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            Terminated: the process was asked to end.
        """
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        if self._number is not None:
            signal.raise_signal(self._number)


@contextmanager
def uninterrupted() -> Iterator[Uninterrupted]:
    """Hold signals back until the block is over; in another thread than the main one, do nothing.

    Raises:
        KeyboardInterrupt: at the end, if Ctrl-C was pressed.
        Terminated: at the end, if the process was asked to end.
    """
    state = Uninterrupted()
    if threading.current_thread() is not threading.main_thread():
        yield state
        return
    handled = [n for n in (signal.SIGINT, *SIGNALS) if callable(signal.getsignal(n))]
    former = {number: signal.signal(number, state.note) for number in handled}
    try:
        yield state
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    state.raise_again()
