"""One line on standard error that says how far something is, and is gone when it is over."""

from types import TracebackType
from typing import Self

from localspec.ui.live import LiveText
from localspec.ui.output import Streams
from localspec.ui.sanitize import safe_for_terminal


class TransientLine:
    """A context manager; on leaving, the line is gone.

    Args:
        quiet: show nothing. Nothing is shown either where standard error is no terminal.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._live = LiveText(Streams().err, quiet=quiet)

    def say(self, text: str) -> None:
        """Show this instead of what was shown before."""
        line = safe_for_terminal(text)
        self._live.status(lambda cells: line[:cells])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, traceback)
