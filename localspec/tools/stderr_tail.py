"""The end of what a server writes to standard error, for when it must be said why it failed."""

import os
import re
import threading

_MOST_BYTES = 8_192
_MOST_CHARACTERS = 300
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


class StderrTail:
    """A pipe that is always read, so that its writer never waits, and of which only the end is kept.

    Attributes:
        sink: what the server is given as its standard error.
    """

    def __init__(self) -> None:
        source, sink = os.pipe()
        self.sink = os.fdopen(sink, "w", encoding="utf-8")
        self._source = source
        self._tail = b""
        self._reader = threading.Thread(target=self._read, daemon=True, name="localspec-stderr")
        self._reader.start()

    def release(self) -> None:
        """Close our own end of the sink: from now on the pipe ends with the server."""
        self.sink.close()

    def last_line(self, seconds: float = 0.3) -> str:
        """The last line that is not empty, cut where it is long; empty if there is none.

        Args:
            seconds: how long to wait for the end of a server that is ending.
        """
        self._reader.join(seconds)
        text = _CONTROL.sub("", self._tail.decode("utf-8", "replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:_MOST_CHARACTERS] if lines else ""

    def close(self) -> None:
        """Give up the pipe. A child of the server that still holds it does not hold us."""
        self.release()
        self._reader.join(0.3)

    def _read(self) -> None:
        # not a file object, which would warn if it were never closed
        while chunk := os.read(self._source, _MOST_BYTES):
            self._tail = (self._tail + chunk)[-_MOST_BYTES:]
        os.close(self._source)
