"""One transient line on standard error while model files are being opened."""

from types import TracebackType
from typing import Self

from localspec.events import Loading
from localspec.ui.live import LiveText
from localspec.ui.output import Streams
from localspec.ui.sanitize import safe_for_terminal


class LoadingLine:
    """Call it with `Loading` events; on leaving, the line is gone.

    Args:
        quiet: show nothing. Nothing is shown either where standard error is no terminal.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._live = LiveText(Streams().err, quiet=quiet)

    def __call__(self, event: Loading) -> None:
        """Show how far a file is."""
        line = f"loading the {event.role}: {event.fraction:4.0%} {safe_for_terminal(event.name)}"
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
