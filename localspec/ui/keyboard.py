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
def keys_unseen() -> Iterator[None]:
    """Keep keys as they are, without echo, while it is open.

    A line editor that reads keys changes the terminal further and comes back to this. Without a
    terminal on standard input it does nothing.
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
    # Enter must not turn into Ctrl-J, which is another key for the editor.
    modes[0] &= ~termios.ICRNL
    modes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, former)
