"""The keyboard while an answer is drawn: keys are kept for whoever reads next, and not echoed.

An echoed key would land in the middle of the answer, and an Enter would push the text into its
status line. Ctrl-C still sends its signal. Only POSIX terminals echo what nobody reads; a Windows
console echoes while it is read from.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

if sys.platform != "win32":
    import termios


@contextmanager
def keys_unseen(terminal: TextIO | None, *, raw: bool) -> Iterator[None]:
    """Turn echo off on a terminal while it is open; with anything else it does nothing.

    Args:
        terminal: any stream on the terminal, standard output and error too.
        raw: keep the keys as they are, for a line editor that changes the terminal further and
            comes back to this; else as lines.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        file = -1 if terminal is None else terminal.fileno()
        former = termios.tcgetattr(file)
        foreground = _in_foreground(file)
    except (OSError, ValueError, termios.error):
        foreground = False
    if not foreground:
        yield
        return
    modes = list(former)
    modes[3] &= ~termios.ECHO
    if raw:
        # Else an Enter would turn into Ctrl-J on the way to the prompt.
        modes[0] &= ~termios.ICRNL
        modes[3] &= ~termios.ICANON
    termios.tcsetattr(file, termios.TCSANOW, modes)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):
            if _in_foreground(file):
                termios.tcsetattr(file, termios.TCSANOW, former)


def _in_foreground(file: int) -> bool:
    """False for a job in the background: the system stops one that changes the terminal."""
    return sys.platform != "win32" and os.tcgetpgrp(file) == os.getpgrp()
