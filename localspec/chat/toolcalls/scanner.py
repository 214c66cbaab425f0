"""Calls in a reply that streams in: where one begins, what it says so far, and where the text goes on.

It works on all that is not settled yet, and what it finds depends on that text alone: so it makes no
difference how the text was cut.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from localspec.chat.toolcalls.json_call import read_named, read_object
from localspec.chat.toolcalls.layout import CallLayout, Shape
from localspec.chat.toolcalls.python_like import read_python
from localspec.chat.toolcalls.quoted import read_quoted
from localspec.chat.toolcalls.reading import Reading, Types, after_marker, loose, may_become
from localspec.chat.toolcalls.tagged import read_tagged

_READERS: dict[Shape, Callable[[str, CallLayout, Types], Reading]] = {
    "json": read_object,
    "named-json": read_named,
    "tagged": read_tagged,
    "quoted": read_quoted,
    "python": read_python,
}
_BETWEEN = " \t\r\n,["


@dataclass(frozen=True, slots=True)
class Start:
    """Where a call may begin.

    Attributes:
        at: position of its first character.
        body: position of what comes after its marker; -1 where the marker is not whole yet.
        opened: the marker stood before all calls, not before one.
    """

    at: int
    body: int
    opened: bool = False


class CallScanner:
    """Finds and reads calls.

    Args:
        layout: how the model writes them.
        tools: schemas of the arguments of each tool.
    """

    def __init__(self, layout: CallLayout, tools: Types) -> None:
        self._layout = layout
        self._tools = tools
        self._read = _READERS[layout.shape]
        opening, before = layout.opening.strip().rstrip("["), layout.before_name.strip()
        # models forget the tags around the one that has the name
        inner = before[before.rfind("<") :] if "<" in before else ""
        self._marks = [
            (mark, opened)
            for mark, opened in ((opening, True), (before, False), (inner, False))
            # one of two signs stands in many texts
            if len(mark) > 2
        ]

    @property
    def bare(self) -> bool:
        """True if a call has no marker: an object at the start of an answer is one."""
        return not self._marks

    def find(self, text: str, *, fresh: bool) -> Start | None:
        """The first call in a text.

        Args:
            text: what is not settled yet.
            fresh: nothing was said before it, so a bare object may be a call.
        """
        if not self._marks:
            start = len(text) - len(text.lstrip())
            first = text[start : start + 1]
            if fresh and first == "[" and self._layout.opening.strip() == "[":
                return Start(start, start + 1, opened=True)
            return Start(start, start) if fresh and first == "{" else None
        found: list[tuple[int, int, Start]] = []
        for rank, (mark, opened) in enumerate(self._marks):
            pattern = loose(mark)
            if match := pattern.search(text):
                at = match.start() + len(match[0]) - len(match[0].lstrip())
                found.append((at, rank, Start(at, match.end(), opened)))
            elif (held := _beginning(text, mark)) is not None:
                found.append((held, rank, Start(held, -1, opened)))
        return min(found)[2] if found else None

    def read(self, text: str) -> Reading:
        """A call, from after its marker on. One of a bare object must name a known tool."""
        reading = self._read(text, self._layout, self._tools)
        call = None if self._marks else reading.call
        if call is not None and call.name not in self._tools:
            return Reading("broken", reason="it names no tool")
        return reading

    def after(self, text: str, *, final: bool) -> int | None:
        """Where the text goes on after what ends a call; None if that is not certain yet.

        Args:
            text: from the end of the call's arguments on.
            final: no more text comes.
        """
        words = self._layout.after_arguments.split()
        if self._layout.shape == "tagged":
            # its first word has ended the arguments
            words = words[1:]
        return self._skipped(text, words, final)

    def following(self, text: str, *, final: bool) -> tuple[Literal["call", "end", "more"], int]:
        """What comes after a call or an opening, and where: another call, or the end of all calls."""
        start = len(text) - len(text.lstrip(_BETWEEN))
        if start == len(text):
            return ("end", start) if final else ("more", 0)
        before = self._layout.before_name
        if before.strip():
            position = after_marker(text, before, start)
            if position is not None and position >= 0:
                return "call", position
            if position == -1 and not final:
                return "more", 0
        elif text[start] == "{" or (self._layout.shape != "json" and text[start] not in "]<"):
            return "call", start
        end = self._skipped(text[start:], _words(self._layout.closing), final)
        if end is None:
            return "more", 0
        # without the closing, what separates calls is the text that it looks like
        return "end", start + end if end else len(text) - len(text.lstrip())

    def _skipped(self, text: str, words: list[str], final: bool) -> int | None:
        """Where the text goes on after as many of the words of a marker as there are."""
        position = 0
        for word in words:
            after = after_marker(text, word, position)
            if after == -1:
                # a marker that the end of the reply cuts off is none of its text
                return len(text) if final else None
            if after is None:
                break
            position = after
        return position


def _words(marker: str) -> list[str]:
    """The tags of a marker, and what stands between them."""
    return [part for part in re.findall(r"<[^<>\s]+>|[^<\s]+|<", marker) if part.strip()]


def _beginning(text: str, mark: str) -> int | None:
    """Where a marker begins that the text breaks off in; None if in none."""
    # white space may be more than the marker has
    for at in range(max(0, len(text) - 2 * len(mark) - 8), len(text)):
        if text[at] == mark[0] and may_become(text[at:], mark):
            return at
    return None
