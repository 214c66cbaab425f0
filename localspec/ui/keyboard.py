"""The keyboard between two prompts: keys are kept for the next one, and not echoed.

An echoed key would land in the middle of the answer, and an Enter would scroll its status line
away. Ctrl-C still sends its signal. Only POSIX terminals echo what nobody reads; a Windows console
echoes while it is read from.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform != "win32":
    import termios


@contextmanager
def keys_unseen(*, raw: bool) -> Iterator[None]:
    """Turn echo off while it is open; without a terminal on standard input it does nothing.

    Args:
        raw: keep the keys as they are, for a prompt that reads keys; else as lines.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        terminal = sys.stdin.fileno()
        former = termios.tcgetattr(terminal)
    except (AttributeError, OSError, ValueError, termios.error):
        yield
        return
    modes = list(former)
    modes[3] &= ~termios.ECHO
    if raw:
        # Else an Enter would turn into Ctrl-J on the way to the prompt.
        modes[0] &= ~termios.ICRNL
        modes[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, former)
