"""Breaks streamed text between words where a row ends, instead of within one.

Only the unfinished word is held back: where it has to go is known when it is whole. Lines of fenced
code are passed on as they are, so that copied code stays code; the terminal cuts those. It knows
widths and no terminal; `answer.py` writes what comes out.
"""

import re
import unicodedata
from itertools import pairwise

from localspec.ui.columns import TAB, widest

_PARTS = re.compile(r"\n|[ \t]+|[^ \t\n]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\S?)")
_LONGEST_FENCE = 200
_LEAST_COLUMNS = 20

Styled = tuple[str, str]
"""A text and the start sequence of its style."""


class WordWrap:
    """Give it what a model writes, piece by piece; it gives back what to write now.

    Text must hold no control characters but new lines and tabs.
    """

    def __init__(self) -> None:
        self._out: list[Styled] = []
        self._columns = 0
        self._column = 0
        self._gap: list[Styled] = []
        self._word: list[Styled] = []
        self._word_cells = 0
        self._endless = False
        self._line = ""
        self._fence = ""

    def feed(self, text: str, style: str, columns: int) -> list[Styled]:
        """Take the next characters, for rows of `columns` cells; 0 where that is not known."""
        if columns != self._columns:
            # Where terminals rewrap, this is where the cursor is now.
            self._column %= max(columns, 1)
            self._columns = columns
        for part in _PARTS.findall(text):
            if part == "\n":
                self._new_line(style)
                continue
            if len(self._line) < _LONGEST_FENCE:
                self._line += part
            if self._fence or columns < _LEAST_COLUMNS:
                self._place()
                self._write_gap()
                self._write(part, style)
            elif part[0] in " \t":
                self._place()
                self._endless = False
                self._gap.append((part, style))
            else:
                for word in _breakable(part):
                    self._add(word, style)
        return self._taken()

    def flush(self) -> list[Styled]:
        """What was held back."""
        self._place()
        return self._taken()

    def at_line_start(self) -> None:
        """Something else has brought the cursor to the start of a line."""
        self._column, self._gap, self._endless, self._line = 0, [], False, ""

    def _add(self, word: str, style: str) -> None:
        if self._word and _is_wide_letter(word[0]):
            self._place()
        self._word.append((word, style))
        self._word_cells += widest(word)
        if self._endless or self._word_cells >= self._columns:
            # Longer than a row: from here on the terminal cuts it, and nothing is gained by waiting.
            self._place()
            self._endless = not _is_wide_letter(word[0])

    def _place(self) -> None:
        """Write the word, on the next row if it does not fit into this one."""
        if not self._word:
            return
        end = self._after_gap() + self._word_cells
        # The last column stays free: a cursor that waits to wrap leaves no place for the status line.
        if end >= self._columns and self._column and not self._endless:
            self._out.append(("\n", ""))
            self._gap, self._column = [], 0
        self._write_gap()
        for word, style in self._word:
            self._write(word, style)
        self._word, self._word_cells = [], 0

    def _after_gap(self) -> int:
        column = self._column
        for character in "".join(text for text, _ in self._gap):
            column = (column // TAB + 1) * TAB if character == "\t" else column + 1
        return column

    def _write_gap(self) -> None:
        column = self._after_gap()
        self._out += self._gap
        self._gap, self._column = [], column

    def _write(self, text: str, style: str) -> None:
        self._out.append((text, style))
        self._column = (self._column + widest(text)) % max(self._columns, 1)

    def _new_line(self, style: str) -> None:
        self._place()
        fence = _FENCE.match(self._line)
        if fence and not self._fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence) and not fence[2]:
            self._fence = ""
        self._out.append(("\n", style))
        self.at_line_start()

    def _taken(self) -> list[Styled]:
        """What is to be written, neighbours of one style together."""
        joined: list[Styled] = []
        for text, style in self._out:
            if joined and joined[-1][1] == style:
                joined[-1] = (joined[-1][0] + text, style)
            else:
                joined.append((text, style))
        self._out = []
        return joined


def _breakable(word: str) -> list[str]:
    """`word` in parts between which a line may end: before each wide letter (漢字, かな)."""
    starts = [0, *(i for i, c in enumerate(word) if i and _is_wide_letter(c)), len(word)]
    return [word[start:end] for start, end in pairwise(starts)]


def _is_wide_letter(character: str) -> bool:
    return (
        character > "\u1100"
        and unicodedata.east_asian_width(character) in "WF"
        and unicodedata.category(character) == "Lo"
    )
