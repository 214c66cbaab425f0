"""The llama.cpp library: loaded once, quiet, with its last complaints kept.

The reason of a failed call exists only as log text, so every error raised in this room carries
llama.cpp's own line. Everything else in `llama/` starts from `library()`.
"""

import ctypes
import sys
from collections import deque
from functools import cache

import llama_cpp

_WARN, _ERROR, _CONT = 3, 4, 5


class Library:
    """llama.cpp with its log routed to us.

    Attributes:
        verbose: pass every log line on to standard error.
    """

    def __init__(self) -> None:
        self.verbose = False
        self._lines: deque[tuple[int, str]] = deque(maxlen=64)
        self._callback = llama_cpp.llama_log_callback(self._log)
        llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.version: str = llama_cpp.__version__
        self.system_info: str = llama_cpp.llama_print_system_info().decode(errors="replace")

    def _log(self, level: int, text: bytes, _: ctypes.c_void_p) -> None:
        line = text.decode(errors="replace")
        if self.verbose:
            sys.stderr.write(line)
        if level in (_WARN, _ERROR):
            self._lines.append((level, line.strip()))
        elif level == _CONT and self._lines and line.strip():
            last_level, last = self._lines[-1]
            self._lines[-1] = (last_level, f"{last}{line.rstrip()}")

    def forget_log(self) -> None:
        """Start listening for the reason of a failure that may follow."""
        self._lines.clear()

    def reason(self) -> str:
        """llama.cpp's own line about what just failed, or a plain sentence if it said nothing."""
        errors = [line for level, line in self._lines if level == _ERROR and line]
        warnings = [line for level, line in self._lines if level == _WARN and line]
        # The first error is the cause; the ones after it repeat that loading failed.
        found = errors[:1] or warnings[-1:]
        return found[0] if found else "llama.cpp gave no reason"


@cache
def library() -> Library:
    """The one library of this process."""
    return Library()
