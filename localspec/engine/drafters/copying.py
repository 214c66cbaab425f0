"""Follows the place that a text is being copied from, over the small edits made to it.

Somebody who asks for a file with one name changed gets it back word by word. At the changed word the
copy breaks, and the few tokens after it occur in many places; but the copy most likely goes on near
where it broke. Knows token ids only.
"""

from localspec.engine.suffix import Match

SURE = 3
"""Tokens that must agree in a row for a copy."""

_BEFORE, _AFTER = 4, 16
"""How far from where it is expected a copy is looked for: more is left out than is written twice."""

_LOST = 16
"""Tokens without a copy after which its place is forgotten."""


class Copy:
    """The place in a text that its end is being copied from."""

    __slots__ = ("_length", "_missed", "_place")

    def __init__(self) -> None:
        self._place: int | None = None
        self._length = 0
        self._missed = 0

    def follow(self, match: Match) -> None:
        """The text's end is a copy of what is before `match.follow`; short ones only where it broke."""
        self._place, self._length = match.follow, match.length
        if match.length >= SURE:
            self._missed = 0

    def take(self, tokens: list[int], n: int) -> None:
        """The text grew by `tokens[n]`."""
        if self._place is None:
            return
        agreed = tokens[self._place] == tokens[n]
        # A token that differs most likely stands for one.
        self._place += 1
        self._length = self._length + 1 if agreed else 0
        self._missed = 0 if self._length >= SURE else self._missed + 1
        if self._missed > _LOST:
            self._place = None

    def resumed(self, tokens: list[int]) -> Match | None:
        """Where the copy goes on after it broke: the longest match of the text's end near by, and of
        equal ones the nearest. None if there is none, or if the copy is not broken."""
        if self._place is None or self._length >= SURE:
            return None
        n = len(tokens)
        best = (0, 0, 0)
        for place in range(max(1, self._place - _BEFORE), min(n - 1, self._place + _AFTER) + 1):
            length = 0
            while (
                length < min(SURE, place) and tokens[place - 1 - length] == tokens[n - 1 - length]
            ):
                length += 1
            best = max(best, (length, -abs(place - self._place), place))
        length, _, place = best
        return Match(length, place) if length else None
