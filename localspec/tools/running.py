"""Running a function of the user's: for so long and no longer, and without a word on standard output."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from localspec.tools.base import ToolFailedError, ToolTimeoutError

_quiet_threads: set[int] = set()
_lock = threading.Lock()


def run_for(work: Callable[[], str], seconds: float) -> str:
    """What the function gives, run in a thread of its own.

    A thread that takes too long is left to itself, since Python cannot stop it; it does not keep
    the program from ending.

    Raises:
        ToolTimeoutError: it took longer.
        ToolFailedError: it raised something, `SystemExit` and `KeyboardInterrupt` included.
    """
    results: list[str | ToolFailedError] = []

    def run() -> None:
        with output_to_stderr():
            results.append(_outcome(work))

    thread = threading.Thread(target=run, daemon=True, name="localspec-tool")
    thread.start()
    thread.join(min(seconds, threading.TIMEOUT_MAX))
    if not results:
        raise ToolTimeoutError(seconds)
    if isinstance(results[0], ToolFailedError):
        raise results[0]
    return results[0]


def _outcome(work: Callable[[], str]) -> str | ToolFailedError:
    try:
        return work()
    except ToolFailedError as error:
        return error
    except SystemExit as error:
        return ToolFailedError(f"the function ended itself with sys.exit({error.code!r})")
    except BaseException as error:
        # nothing may be lost here: whoever waits would take it for a timeout
        return ToolFailedError(_in_words(error))


def _in_words(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


@contextmanager
def output_to_stderr() -> Iterator[None]:
    """What this thread prints goes to standard error, what others print goes where it went.

    Not `contextlib.redirect_stdout`, which is for all threads: one that was left to itself would
    take standard output with it.
    """
    thread = threading.get_ident()
    with _lock:
        outer = thread in _quiet_threads
        _quiet_threads.add(thread)
        if not isinstance(sys.stdout, _Parted):
            sys.stdout = cast("TextIO", _Parted(sys.stdout))
    try:
        yield
    finally:
        if not outer:
            with _lock:
                _quiet_threads.discard(thread)
                if not _quiet_threads and isinstance(sys.stdout, _Parted):
                    sys.stdout = sys.stdout.usual


class _Parted:
    """Standard output that sends what some threads write to standard error."""

    def __init__(self, usual: TextIO) -> None:
        self.usual = usual

    def __getattr__(self, name: str) -> object:
        is_quiet = threading.get_ident() in _quiet_threads
        return getattr(sys.stderr if is_quiet else self.usual, name)
