"""What one rendering of a chat template may use: time, and size of what it makes.

A template comes with a downloaded file, so it is hostile until shown otherwise. Two rules bound it:
between two calls of `tick` only a bounded amount of work happens, and every value a template makes
is weighed when it is made. `sandbox.py` sees to both. This file knows nothing of Jinja.
"""

import re
import time
from collections.abc import Iterable, Sized

from localspec.errors import UnsupportedFileError

_MAX_SECONDS = 5.0
_SECONDS_PER_TURN = 0.005
_VALUE_BASE = 1 << 20
_TOTAL_BASE = 1 << 24
_MAX_INT_BITS = 10_000
_MAX_NUMBER = 1_000
_ITEM_WEIGHT = 8
_HINT = "Send the prompt without the template: add --raw"

_DIGITS = re.compile(r"\d+")
_STAR_WIDTH = re.compile(r"%[^%a-zA-Z]*\*")
_NESTED_FIELD = re.compile(r"\{[^{}]*:[^{}]*\{")


class Budget:
    """Limits of one rendering, in proportion to what is rendered.

    Args:
        size: weight of the values handed to the template.
        n_turns: number of messages; templates may copy what they have so far once a turn, and some
            look at all earlier messages for each.
        seconds: wall-clock limit, a little more with each message.
    """

    __slots__ = ("_deadline", "_left", "value_limit")

    def __init__(self, size: int = 0, n_turns: int = 0, seconds: float = _MAX_SECONDS) -> None:
        self.value_limit = _VALUE_BASE + 16 * size
        self._left = _TOTAL_BASE + size * (2 * n_turns + 32)
        self._deadline = time.monotonic() + seconds + _SECONDS_PER_TURN * n_turns

    def tick(self) -> None:
        """Raises: UnsupportedFileError once the time is over."""
        if time.monotonic() > self._deadline:
            raise UnsupportedFileError("The chat template takes too long to render.", _HINT)

    def charge(self, weight: int) -> None:
        """Account for a value of this weight. Raises: UnsupportedFileError if it is too much."""
        self.tick()
        self._left -= weight
        if weight > self.value_limit or self._left < 0:
            raise UnsupportedFileError("The chat template produces far too much text.", _HINT)

    def weigh(self, value: object) -> None:
        """Account for a value the template has made."""
        if isinstance(value, str):
            self.charge(len(value))
        else:
            self.charge(weight(value, self.value_limit))

    def join(self, parts: Iterable[str]) -> str:
        """`"".join(parts)`, stopped as soon as it grows too long."""
        pieces: list[str] = []
        size = 0
        for part in parts:
            pieces.append(part)
            size += len(part)
            if size > self.value_limit:
                break
        self.charge(size)
        return "".join(pieces)

    def number(self, *values: object) -> None:
        """Check numbers that say how much to produce (a width, a count of columns)."""
        if any(isinstance(value, int) and abs(value) > _MAX_NUMBER for value in values):
            raise UnsupportedFileError("The chat template asks for an absurd width.", _HINT)

    def product(self, left: object, right: object) -> None:
        """Check `left * right` before it is computed."""
        if isinstance(left, int) and isinstance(right, int):
            self._bits(left.bit_length() + right.bit_length())
        elif isinstance(left, int) and isinstance(right, Sized):
            self.charge(weight(right, self.value_limit) * max(left, 0))
        elif isinstance(right, int) and isinstance(left, Sized):
            self.charge(weight(left, self.value_limit) * max(right, 0))

    def power(self, base: object, exponent: object) -> None:
        """Check `base ** exponent` before it is computed."""
        if isinstance(base, int) and isinstance(exponent, int):
            self._bits(base.bit_length() * abs(exponent))

    def replaced(self, text: str, old: str, new: str) -> None:
        """Check `text.replace(old, new)` before it is computed."""
        self.charge(len(text) + text.count(old) * len(new))

    def formatted(self, pattern: str, values: object) -> None:
        """Check `pattern % values` and `pattern.format(values)` before they are computed."""
        if _STAR_WIDTH.search(pattern) or _NESTED_FIELD.search(pattern):
            raise UnsupportedFileError("The chat template computes a width of a field.", _HINT)
        widths = [int(run[:9]) for run in _DIGITS.findall(pattern)]
        self.number(*widths)
        fields = pattern.count("%") + pattern.count("{")
        self.charge(len(pattern) + sum(widths) + fields * weight(values, self.value_limit))

    def _bits(self, bits: int) -> None:
        if bits > _MAX_INT_BITS:
            raise UnsupportedFileError("The chat template computes an absurd number.", _HINT)


def weight(value: object, limit: int) -> int:
    """Characters of text in a value, plus a little for each item that holds it.

    Shared parts count each time they appear, as they would when printed. Counting stops at `limit`.
    """
    total = 0
    waiting = [value]
    while waiting and total <= limit:
        item = waiting.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, dict):
            total += _ITEM_WEIGHT * len(item)
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            total += _ITEM_WEIGHT * len(item)
            waiting += item
        elif isinstance(item, int) and item.bit_length() > _MAX_INT_BITS:
            total += limit + 1
        else:
            total += _ITEM_WEIGHT
    return total
