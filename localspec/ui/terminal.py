"""What an output stream can show: is it a terminal, how large, in colour, with which characters.

Asked anew each time, because a window is resized while text runs through it. Knows nothing of what
is drawn; `live.py` and `output.py` draw.
"""

import os
import sys
from typing import TextIO

from rich.console import Console

_DUMB = ("dumb", "unknown")
_FIRST_WINDOWS_BUILD = 19041
"""Windows before this one does not know the sequence that makes room for the status line."""


def is_terminal(stream: TextIO) -> bool:
    """True if a person sees what is written to `stream`; a closed stream is none."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def can_move_cursor(stream: TextIO) -> bool:
    """True if `stream` is a terminal that obeys cursor sequences (switched on where needed)."""
    if not is_terminal(stream):
        return False
    if sys.platform == "win32":
        return sys.getwindowsversion().build >= _FIRST_WINDOWS_BUILD and _obeys_sequences(stream)
    return os.environ.get("TERM", "dumb").lower() not in _DUMB


def has_color(stream: TextIO) -> bool:
    """True if colours may be written, by Rich's rules: NO_COLOR, FORCE_COLOR, TERM."""
    console = Console(file=stream)
    if is_terminal(stream) and not can_move_cursor(stream):
        return False
    return console.color_system is not None and not console.no_color


def same_terminal(one: TextIO, other: TextIO) -> bool:
    """True if both streams end on the same screen."""
    if not (is_terminal(one) and is_terminal(other)):
        return False
    if sys.platform == "win32":
        return True
    try:
        return os.path.samestat(os.fstat(one.fileno()), os.fstat(other.fileno()))
    except (OSError, ValueError):
        return False


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of the screen now; (0, 0) where that is not known."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0
    return size.columns, size.lines


def encodable(text: str, stream: TextIO) -> str:
    """`text` with a question mark for each character that the stream's encoding does not have."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def can_encode(text: str, stream: TextIO) -> bool:
    """True if the stream's encoding has every character of `text`."""
    return encodable(text, stream) == text


def _obeys_sequences(stream: TextIO) -> bool:
    """Switch a Windows console to virtual terminal sequences; False if it has none."""
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    enable_virtual_terminal_processing = 0x0004
    kernel32 = ctypes.windll.kernel32
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))
    mode = ctypes.c_ulong()
    if not kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    wanted = mode.value | enable_virtual_terminal_processing
    return bool(kernel32.SetConsoleMode(handle, wanted))
