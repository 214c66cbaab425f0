"""The keyboard while an answer is drawn: keys are kept for whoever reads next, and not echoed.

An echoed key would land in the middle of the answer, and an Enter would push the text into its
status line. Ctrl-C and Ctrl-Z still send their signals. Only POSIX terminals echo what nobody
reads; a Windows console echoes while it is read from.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Self, TextIO

if sys.platform != "win32":
    import termios


def keys_unseen(terminal: TextIO | None, *, raw: bool) -> AbstractContextManager[None]:
    """Turn echo off on a terminal while it is open; with anything else it does nothing.

    Args:
        terminal: any stream on the terminal, standard output and error too.
        raw: keep the keys as they are, for a line editor that changes the terminal further and
            comes back to this; else as lines.
    """
    if sys.platform == "win32":
        return nullcontext()
    else:
        return _unseen(terminal, raw)


class Suspension:
    """While it is open, Ctrl-Z sets `requested`, so that the screen is in order before `now()`.

    Outside the main thread, and where there is no such signal, it does nothing.

    Attributes:
        requested: True once Ctrl-Z was pressed.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.requested = False
        self._terminal = terminal
        self._installed = False

    def now(self) -> None:
        """Stop as Ctrl-Z would have; comes back when the shell has the process go on."""
        self.requested = False
        if sys.platform != "win32":
            with _modes_kept(self._terminal):
                signal.signal(signal.SIGTSTP, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGTSTP)
                signal.signal(signal.SIGTSTP, self._on_signal)

    def __enter__(self) -> Self:
        if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
            # Whoever has made it ignored, a shell without job control, means it.
            self._installed = signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
            if self._installed:
                signal.signal(signal.SIGTSTP, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if sys.platform != "win32" and self._installed:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            self._installed = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True


if sys.platform != "win32":

    @contextmanager
    def _unseen(terminal: TextIO | None, raw: bool) -> Iterator[None]:
        with _modes_kept(terminal) as file:
            if file is not None:
                modes = termios.tcgetattr(file)
                modes[3] &= ~termios.ECHO
                # Else Ctrl-C and Ctrl-Z throw away what is written and not yet on the screen.
                modes[3] |= termios.NOFLSH
                if raw:
                    # Else an Enter would turn into Ctrl-J on the way to the prompt.
                    modes[0] &= ~termios.ICRNL
                    modes[3] &= ~termios.ICANON
                termios.tcsetattr(file, termios.TCSANOW, modes)
            yield

    @contextmanager
    def _modes_kept(terminal: TextIO | None) -> Iterator[int | None]:
        """Bring a terminal's modes back at the end; gives its descriptor, None where it is none,
        or another job's: the system stops a job in the background that changes the terminal."""
        try:
            file = -1 if terminal is None else terminal.fileno()
            former = termios.tcgetattr(file)
            foreground = _in_foreground(file)
        except (OSError, ValueError, termios.error):
            foreground = False
        if not foreground:
            yield None
            return
        try:
            yield file
        finally:
            with contextlib.suppress(OSError, termios.error):
                if _in_foreground(file):
                    termios.tcsetattr(file, termios.TCSANOW, former)

    def _in_foreground(file: int) -> bool:
        return os.tcgetpgrp(file) == os.getpgrp()
