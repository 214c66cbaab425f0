"""What passes cost here: seconds by rows, learned from the passes themselves.

Real machines have steps (four rows may cost as much as three), so this is a table and no line. A
stall must not poison it: an entry is the median of its last samples and never above what a larger
pass was seen to take.
"""

from collections import deque
from statistics import median
from typing import Any

_SAMPLES = 9
_NEXT_ROW = 0.1
"""A row more is expected to cost this part of a pass while one size is known only: too little, so that
it gets tried, and from then on is known."""

_HOPEFUL = 0.5
_HOPEFUL_AFTER = 64
"""Beyond the widest pass the last slope goes on; after so many passes without a wider one it is
expected to have halved, so that one gets tried where there is a step."""

_TARGET = "target"
_A_TEXT = 16
"""Fewer tokens than this are read no faster than they are verified."""

_FIRST_BUCKET = 10
"""Contexts under 2^10 cells cost alike; beyond that every doubling has a table of its own."""


class Timings:
    """Seconds by size: rows of a pass, or sequences of a draft level."""

    def __init__(self) -> None:
        self._samples: dict[int, deque[float]] = {}
        self._known: dict[int, float] | None = None

    def add(self, size: int, seconds: float) -> None:
        """Take in one measurement."""
        self._samples.setdefault(size, deque(maxlen=_SAMPLES)).append(seconds)
        self._known = None

    @property
    def known(self) -> dict[int, float]:
        """The estimate of each size that was measured, ascending."""
        if self._known is None:
            self._known = {}
            least = float("inf")
            for size in sorted(self._samples, reverse=True):
                least = min(least, median(self._samples[size]))
                self._known[size] = least
            self._known = dict(sorted(self._known.items()))
        return self._known

    def state(self) -> dict[str, float]:
        """The estimates, to be kept."""
        return {str(size): seconds for size, seconds in self.known.items()}

    def restore(self, state: dict[str, float]) -> None:
        """Begin with estimates that were kept; each weighs as one measurement."""
        for size, seconds in state.items():
            if int(size) < 1:
                raise ValueError(f"a size of {size}")
            self.add(int(size), positive(seconds))


def positive(value: object) -> float:
    """A kept number that must be above 0 and finite.

    Raises:
        TypeError, ValueError: it is not.
    """
    if not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"not a positive number: {value!r}")
    return float(value)


def interpolated(known: dict[int, float], size: int, hope: float = 1.0) -> float:
    """The cost of a size, read off a table.

    Args:
        known: size -> seconds, ascending, not empty.
        size: any size from 1 on.
        hope: part of the last slope that goes on beyond the last size.
    """
    if size in known:
        return known[size]
    sizes = list(known)
    below = [n for n in sizes if n < size]
    above = [n for n in sizes if n > size]
    if not below:
        return known[above[0]]
    low = below[-1]
    if above:
        high = above[0]
        return known[low] + (known[high] - known[low]) * (size - low) / (high - low)
    if len(below) == 1:
        return known[low] * (1.0 + _NEXT_ROW * (size - low))
    slope = (known[low] - known[below[-2]]) / (low - below[-2])
    return known[low] + max(slope, 0.0) * hope * (size - low)


class CostTable:
    """Costs of the target's passes by rows and context, and of the drafters' levels."""

    def __init__(self) -> None:
        self._passes: dict[int, Timings] = {}
        self._levels: dict[str, Timings] = {}
        self._reading: dict[str, deque[float]] = {}
        self._bucket = 0
        self._curve: dict[int, float] = {}
        self._n_no_wider = 0

    def observe_pass(self, n_rows: int, n_cells: int, seconds: float) -> None:
        """A verify pass of `n_rows` rows over `n_cells` tokens of context was timed."""
        self._bucket = max(0, n_cells.bit_length() - _FIRST_BUCKET)
        self._passes.setdefault(self._bucket, Timings()).add(n_rows, seconds)
        self._n_no_wider = 0 if n_rows > self.widest else self._n_no_wider + 1
        self._curve = self._merged()

    def observe_level(self, kind: str, n_sequences: int, n_behind: int, seconds: float) -> None:
        """One level of drafts was timed.

        Args:
            kind: the drafter.
            n_sequences: drafts that grew.
            n_behind: tokens that the drafter had to catch up with, all sequences together.
            seconds: wall-clock time.
        """
        if n_behind <= 2 * n_sequences:
            self._levels.setdefault(kind, Timings()).add(n_sequences, seconds)
        else:
            self._reading.setdefault(kind, deque(maxlen=_SAMPLES)).append(seconds / n_behind)

    def observe_reading(self, n_tokens: int, seconds: float) -> None:
        """The target read so much of a prompt in one pass."""
        if n_tokens >= _A_TEXT:
            read = self._reading.setdefault(_TARGET, deque(maxlen=_SAMPLES))
            read.append(seconds / n_tokens)

    @property
    def widest(self) -> int:
        """Rows of the widest pass timed; 1 before any."""
        return max(self._curve, default=1)

    @property
    def measured(self) -> bool:
        """True once a pass was timed."""
        return bool(self._curve)

    def pass_s(self, n_rows: int) -> float:
        """Seconds of a verify pass with `n_rows` rows, at the context of the last one."""
        patience = min(self._n_no_wider / _HOPEFUL_AFTER, 1.0)
        return interpolated(self._curve, n_rows, 1.0 - (1.0 - _HOPEFUL) * patience)

    def level_s(self, kind: str, relative: float, n_sequences: int = 1) -> float:
        """Seconds of one level of drafts; before any was timed, `relative` of a plain pass."""
        timings = self._levels.get(kind)
        if timings is None:
            return relative * self.pass_s(1)
        return interpolated(timings.known, n_sequences)

    def reading_s(self, kind: str, relative: float) -> float:
        """Seconds a drafter needs for each token it catches up with; before that was timed, `relative` of
        what the target took to read."""
        if self._reading.get(kind):
            return median(self._reading[kind])
        if self._reading.get(_TARGET):
            return relative * median(self._reading[_TARGET])
        return self.level_s(kind, relative) / 2

    def _merged(self) -> dict[int, float]:
        """The table of this context; what it lacks comes from the nearest one, in proportion."""
        own = dict(self._passes[self._bucket].known)
        for bucket in sorted(self._passes, key=lambda b: abs(b - self._bucket)):
            other = self._passes[bucket].known
            common = own.keys() & other.keys()
            factor = median(own[n] / other[n] for n in common) if common else 1.0
            own |= {n: s * factor for n, s in other.items() if n not in own}
        return dict(sorted(own.items()))

    def state(self) -> dict[str, Any]:
        """What was learned, to be kept."""
        return {
            "bucket": self._bucket,
            "passes": {str(bucket): t.state() for bucket, t in self._passes.items()},
            "levels": {kind: t.state() for kind, t in self._levels.items()},
            "reading": {kind: median(s) for kind, s in self._reading.items() if s},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Begin with what was kept.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the state is not one of ours.
        """
        for bucket, timings in state["passes"].items():
            self._passes.setdefault(int(bucket), Timings()).restore(timings)
        for kind, timings in state["levels"].items():
            self._levels.setdefault(kind, Timings()).restore(timings)
        for kind, seconds in state["reading"].items():
            self._reading[kind] = deque([positive(seconds)], maxlen=_SAMPLES)
        self._bucket = int(state["bucket"])
        if self._passes:
            self._bucket = min(self._passes, key=lambda b: abs(b - self._bucket))
            self._curve = self._merged()
