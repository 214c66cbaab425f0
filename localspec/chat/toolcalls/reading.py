"""What readers of calls share: the state of a call that is on its way, and markers with loose white space."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from localspec.messages import ToolCall

_TAGS = re.compile(r"<[^<>\s]{1,60}>|\s+|[^\s<]+|<")


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a call has come.

    Attributes:
        state: "more" is to come, the call is "done", or the text is "broken": no call after all.
        call: name and arguments as far as they are certain; None before the name is.
        length: characters of the whole call, once it is done.
        reason: why it is none.
    """

    state: Literal["more", "done", "broken"]
    call: ToolCall | None = None
    length: int = 0
    reason: str = ""


MORE = Reading("more")

Types = Mapping[str, Mapping[str, object]]
"""Schemas of the arguments of each tool, by name: `{"f": {"city": {"type": "string"}}}`."""


def broken(reason: str) -> Reading:
    """The text is no call."""
    return Reading("broken", reason=reason)


@cache
def loose(marker: str) -> re.Pattern[str]:
    """A marker, with any white space where it has some or between two of its tags."""
    words = [re.escape(part) for part in _TAGS.findall(marker) if not part.isspace()]
    return re.compile(r"\s*" + r"\s*".join(words))


def may_become(text: str, marker: str) -> bool:
    """True if the text is a beginning of the marker, white space aside."""
    return "".join(marker.split()).startswith("".join(text.split()))


def after_marker(text: str, marker: str, start: int) -> int | None:
    """Where the text goes on after the marker at `start`; None if it is not there, -1 if it may come yet."""
    if not marker.strip():
        return start
    if found := loose(marker).match(text, start):
        return found.end()
    return -1 if may_become(text[start:], marker) else None
