"""Ctrl-C as a request: the first asks, between two events, for an end; the second insists."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

_Handler = Callable[[int, FrameType | None], object] | int | None


class Interrupt:
    """While it is open, Ctrl-C sets `requested`; a second one raises KeyboardInterrupt.

    Whoever draws the events looks at `requested` after each and closes the generator. Outside the
    main thread, which alone gets signals, it does nothing. On leaving, the former handler is back.

    Attributes:
        requested: True once Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.requested = False
        self._former: _Handler = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._former = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
            self._former = None

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
