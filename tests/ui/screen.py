"""A real pseudo-terminal whose other end is an emulated screen (pyte), and events to draw on it.

The kernel's line discipline is in between, as in a terminal window: it turns new lines around.
"""

import fcntl
import io
import os
import select
import struct
import termios
import unicodedata
from collections.abc import Iterable, Iterator

import pyte

from localspec.events import (
    AnswerEvent,
    Finished,
    LiveNumbers,
    RoundDone,
    Speculation,
    TextDelta,
    Timing,
)

_SLICE = 256
_PATIENCE_S = 10.0


class _RealisticScreen(pyte.HistoryScreen):
    """pyte lets a wide character hang over the edge; terminals take it to the next row."""

    def draw(self, data: str) -> None:
        for character in data:
            if (
                unicodedata.east_asian_width(character) in "WF"
                and self.cursor.x == self.columns - 1
                and pyte.modes.DECAWM in self.mode
            ):
                self.carriage_return()
                self.linefeed()
            super().draw(character)


class Terminal(io.TextIOBase):
    """The program's end; `rows()` is what a person sees, scrolled-off rows included.

    Everything written is on the screen at once. `after_write`, if given, is called after each write.
    """

    def __init__(self, columns: int, lines: int, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        self._master, self._slave = os.openpty()
        self._screen = _RealisticScreen(columns, lines, history=100_000, ratio=0.001)
        self._feed = pyte.ByteStream(self._screen)
        self.n_draws = 0
        self.resize(columns, lines)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def resize(self, columns: int, lines: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)
        self._screen.resize(lines, columns)

    def write(self, text: str) -> int:
        data = text.encode(self._encoding)
        self.n_draws += data.count(b"\x1b7")
        for start in range(0, len(data), _SLICE):
            piece = data[start : start + _SLICE]
            os.write(self._slave, piece)
            # the line discipline makes two bytes of each new line
            self._show(len(piece) + piece.count(b"\n"))
        return len(text)

    def _show(self, n_bytes: int) -> None:
        """Bring that many bytes to the screen; the kernel hands them over when it likes."""
        while n_bytes:
            if not select.select([self._master], [], [], _PATIENCE_S)[0]:
                raise TimeoutError(f"{n_bytes} bytes did not come out of the terminal")
            arrived = os.read(self._master, n_bytes)
            self._feed.feed(arrived)
            n_bytes -= len(arrived)

    def isatty(self) -> bool:
        return os.isatty(self._slave)

    def fileno(self) -> int:
        return self._slave

    def rows(self) -> list[str]:
        scrolled = [
            "".join(row[x].data for x in range(self._screen.columns))
            for row in self._screen.history.top
        ]
        rows = [row.rstrip() for row in scrolled + list(self._screen.display)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def cursor(self) -> tuple[int, int]:
        return self._screen.cursor.x, self._screen.cursor.y

    def colors(self) -> set[str]:
        rows = self._screen.buffer.values()
        return {cell.fg for row in rows for cell in row.values() if cell.data.strip()}

    def close(self) -> None:
        if not self.closed:
            os.close(self._master)
            os.close(self._slave)
        super().close()


def numbers(rate: float = 21.5) -> LiveNumbers:
    """Figures for a status line."""
    return LiveNumbers(rate, 0.87, 3.41, 1.85, 120, 8192, 2, 2)


def finished(text: str = "", reason: str = "stop", times_plain: float | None = 1.85) -> Finished:
    """The end of an answer of 3 tokens."""
    return Finished(
        reason=reason,  # type: ignore[arg-type]
        text=text,
        reasoning=None,
        tool_calls=(),
        token_ids=(1, 2, 3),
        prompt_tokens=40,
        cached_tokens=12,
        seed=7,
        timing=Timing(0.5, 0.25, 2.0, 23.44, 12.7),
        speculation=Speculation("draft-model", 2, 8, 6, 5, 0.87, 3.41, (2, 2, 1)),
        live=LiveNumbers(23.44, 0.87, 3.41, times_plain, 160, 8192, 2, 2),
    )


def streamed(text: str, size: int = 3) -> Iterator[AnswerEvent]:
    """`text` in deltas of `size` characters, a round of figures after each."""
    for start in range(0, len(text), size):
        yield TextDelta(text[start : start + size], drafted=start % 2 == 1)
        yield RoundDone(4, 3, numbers(start % 90 + 0.5))


def plain_rows(pieces: Iterable[str], columns: int, lines: int) -> list[str]:
    """What the same screen shows if the text is written alone."""
    terminal = Terminal(columns, lines)
    for piece in pieces:
        terminal.write(piece)
    rows = terminal.rows()
    terminal.close()
    return rows
