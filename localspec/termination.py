"""SIGTERM and SIGHUP as an exception: what is open is closed, and what is finished is kept."""

import signal
from types import FrameType
from typing import NoReturn

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end; Windows has no SIGHUP."""


class Terminated(SystemExit):
    """The process was asked to end; its exit code is the one that shells give (128 + signal)."""


def end_in_order() -> None:
    """Have these signals raise `Terminated` in the main thread, but for those that are ignored (nohup)."""
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(128 + number)
