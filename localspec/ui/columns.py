"""Where the cursor may be after text was written, seen from outside the terminal.

Terminals disagree about the width of many characters, so a position is a range. It is counted in
cells from the start of the line and grows on over the wraps; `certain` says when the row is known
and the cursor surely not on the terminal's last column, waiting to wrap. Only then may something
be drawn around it (`live.py`): moving the cursor away there would cost the last character.
"""

import unicodedata
from functools import lru_cache

TAB = 8
"""Columns from one tab stop to the next."""

_JOINER = "\u200d"


class CursorColumn:
    """Range of positions, fed with everything that is written; the start is the start of a line."""

    def __init__(self) -> None:
        self._low = self._high = 0
        self._lost = False
        self._joined = False

    @property
    def at_line_start(self) -> bool:
        """True if nothing was written since the last new line."""
        return self._high == 0 and not self._lost

    def lose(self) -> None:
        """The screen was changed by others (a resize): not known until the next new line."""
        self._lost = not self.at_line_start

    def certain(self, columns: int) -> bool:
        """True if the cursor is surely within a row of `columns` cells."""
        if self._lost:
            return False
        if self._high == 0:
            return True
        return self._low % columns > 0 and self._low // columns == self._high // columns

    def stays_in_row(self, text: str, columns: int) -> bool:
        """True if writing `text`, from a certain position, surely does not reach the next row."""
        if "\n" in text or "\t" in text:
            return False
        return self._high % columns + widest(text) < columns

    def feed(self, text: str, columns: int) -> None:
        """Follow `text`, which holds no control characters but new lines and tabs."""
        line_start = text.rfind("\n") + 1
        if line_start:
            self._low = self._high = 0
            self._lost = self._joined = False
        for character in text[line_start:]:
            self._step(character, columns)

    def _step(self, character: str, columns: int) -> None:
        if character == "\t":
            self._tab(columns)
            return
        least, most = _widths(character)
        if self._joined and most:
            least = 0
        self._joined = character == _JOINER
        if most == 2 and (self._high + 1) // columns > self._low // columns:
            # A wide character in the last column goes to the next row and leaves a cell empty.
            self._low += self._low == self._high and least == 2
            self._high += 1
        self._low += least
        self._high += most

    def _tab(self, columns: int) -> None:
        """A tab stops at the last column and does not wrap; from a range it ends anywhere."""
        if self._low != self._high or not self.certain(columns):
            self._lost = True
            return
        row, column = divmod(self._low, columns)
        column = min((column // TAB + 1) * TAB, columns - 1)
        self._low = self._high = row * columns + column


def widest(text: str) -> int:
    """Most cells that terminals give a text without tabs and new lines."""
    return sum(_widths(character)[1] for character in text)


@lru_cache(maxsize=4096)
def _widths(character: str) -> tuple[int, int]:
    """Least and most cells that terminals give a character."""
    code = ord(character)
    if code < 0x300:
        return (0, 1) if code == 0xAD else (1, 1)
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Mc", "Cf") or 0x1160 <= code <= 0x11FF:
        return 0, 1
    if 0x1F3FB <= code <= 0x1F3FF:
        return 0, 2  # skin tones melt into the emoji before them, or do not
    if category in ("Cn", "Co", "Cs", "So", "Sk"):
        return 1, 2
    return (2, 2) if unicodedata.east_asian_width(character) in "WF" else (1, 1)
