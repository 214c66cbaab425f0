"""Running text with a status line under it, on one terminal, that never spoil each other.

The status line stands in the row below the cursor and is wiped, in the same write, before text can
reach that row. So it is always the last thing on the screen: whatever a resize does to it, erasing
from the cursor down takes it away whole; nothing of it gets into the scrollback; and a process that
is killed leaves a stray line at worst, no terminal in an odd state. (A scroll region over a fixed
bottom row was weighed: terminals drop the region on a resize, reflow the row into the text, and
keep the region when the process dies.) What the line says comes from `status.py`.
"""

import contextlib
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich.cells import cell_len, set_cell_size

from localspec.ui.columns import CursorColumn
from localspec.ui.terminal import can_move_cursor, encodable, terminal_size

DIM = "\x1b[2m"
GREEN = "\x1b[32m"
_RESET = "\x1b[0m"
_ERASE_BELOW = "\x1b[J"
# Scrolls if the cursor is in the bottom row, and comes back up; unlike "\n" it keeps the column.
_MAKE_ROOM = "\x1bD\x1b[A"
# Wrapping is off while the line is drawn: a window that shrinks just now cuts it, and no more.
_BEGIN_STATUS = "\x1b7\x1b[B\r\x1b[2K\x1b[?7l"
_END_STATUS = "\x1b8\x1b[?7h"
_REDRAW_EVERY_S = 0.1
_LEAST_COLUMNS, _LEAST_ROWS = 20, 5
# While a window's edge is dragged, tmux tells of a new width up to 0.25 s late. Meanwhile a cursor
# that waits to wrap cannot be told, and drawing around it would cost a character.
_CALM_AFTER_S = 0.5

Style = str
"""Start sequence of a style, "" for none."""


class LiveText:
    """Writes text to `stream` and keeps a status line below it while it is open.

    On a stream that is no terminal, or a dumb one, there is the text alone. Text must hold no
    control characters but new lines and tabs, and start at the start of a line.

    Attributes:
        stream: where it goes.
        can_draw: there is a status line here, if the screen is large enough.
    """

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stream = stream
        self._clock = clock
        self.can_draw = can_move_cursor(stream) and not quiet
        self._column = CursorColumn()
        self._size = terminal_size(stream) if self.can_draw else (0, 0)
        self._status: Callable[[int], str] | None = None
        self._drawn_at: float | None = None
        self._resized_at: float | None = None

    @property
    def at_line_start(self) -> bool:
        """True if the text so far is empty or ends with a new line."""
        return self._column.at_line_start

    def write(self, text: str, style: Style = "") -> None:
        """Write text after the text."""
        if not text:
            return
        text = encodable(text, self.stream)
        styled = f"{style}{text}{_RESET}" if style else text
        if not self.can_draw:
            self._column.feed(text, 1 << 30)
            self._put(styled)
            return
        before = self._follow_size()
        columns = max(self._size[0], 1)
        if self._drawn_at is not None and not self._column.stays_in_row(text, columns):
            before += self._erased()
        self._column.feed(text, columns)
        self._put(before + styled + self._drawing())

    def end_line(self) -> None:
        """Write a new line unless the text ends with one."""
        if not self.at_line_start:
            self.write("\n")

    def status(self, line: Callable[[int], str]) -> None:
        """From now on show `line(cells)`: a text of at most so many cells."""
        self._status = line
        if self.can_draw:
            self._put(self._follow_size() + self._drawing())

    def clear_status(self) -> None:
        """Take the status line away, and on an empty line what the terminal echoed ("^C")."""
        self._status = None
        echo = "\r" + _ERASE_BELOW if self.can_draw and self.at_line_start else ""
        self._put(self._follow_size() + self._erased() + echo)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A terminal that has gone away has no status line to wipe.
        with contextlib.suppress(OSError, ValueError):
            self.clear_status()

    def _follow_size(self) -> str:
        """Notice a resize; returns what takes away a line drawn at the old size."""
        size = terminal_size(self.stream) if self.can_draw else self._size
        if size == self._size:
            return ""
        if size[0] != self._size[0]:
            self._column.lose()
        self._size = size
        self._resized_at = self._clock()
        return self._erased()

    def _erased(self) -> str:
        if self._drawn_at is None:
            return ""
        self._drawn_at = None
        return _ERASE_BELOW

    def _drawing(self) -> str:
        """What draws the status line, if it is due and may be drawn here."""
        columns, rows = self._size
        if self._status is None or columns < _LEAST_COLUMNS or rows < _LEAST_ROWS:
            return ""
        now = self._clock()
        if self._drawn_at is not None and now - self._drawn_at < _REDRAW_EVERY_S:
            return ""
        if self._resized_at is not None and now - self._resized_at < _CALM_AFTER_S:
            return ""
        if not self._column.certain(columns):
            return ""
        self._drawn_at = now
        line = encodable(self._status(columns - 1), self.stream)
        if cell_len(line) >= columns:
            line = set_cell_size(line, columns - 1)
        return f"{_MAKE_ROOM}{_BEGIN_STATUS}{DIM}{line}{_RESET}{_END_STATUS}"

    def _put(self, text: str) -> None:
        if text:
            self.stream.write(text)
            self.stream.flush()
