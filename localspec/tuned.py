"""What tuning found, as plain values: made by `tuning.py`, drawn by `ui/`, printed as JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from localspec.params import Threads

VERSION = 1

MOST_BY_OTHERS = 0.2
"""From this part of the processor's time on, used by other processes, a measurement is not kept."""

FEW_TURNS = 3
"""From so many measurements of each on, their median is past what one disturbance does."""


@dataclass(frozen=True, slots=True)
class DepthCost:
    """What drafting so deep costs, whatever the text.

    Attributes:
        depth: draft tokens a round.
        cost: of a round, in plain passes.
        break_even: chance of each draft token, 0..1, from which a round brings more than it costs;
            None if not even 1 is enough.
    """

    depth: int
    cost: float
    break_even: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way of running the target, timed in turn with the usual one.

    Attributes:
        name: "fast numerics", "flash attention off", …
        flag: what to type to have it; None if it cannot be had.
        ratios: rows of a pass -> its time ÷ that of the usual way.
    """

    name: str
    flag: str | None
    ratios: dict[int, float]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning measured and chose; times are medians, in seconds.

    Attributes:
        model: name of the target.
        drafter: name of the drafter's file, None for none.
        numerics: "exact" or "fast".
        n_cells: tokens of context before each pass.
        usual: threads without tuning.
        chosen: threads from now on.
        decode_s: threads -> a pass of one row.
        verify_s: threads -> a pass of `verify_rows` rows; empty if the target cannot be rolled back.
        verify_rows: see there.
        passes_s: rows -> a pass with the chosen threads.
        level_s: one more draft token of the drafter.
        reading_s: the drafter, for each token of a text that it has to read.
        depths: what drafting so deep costs.
        alternatives: other ways of running the target.
        n_turns: how often each was timed, where that was least.
        others: part of the processor's time that other processes used meanwhile, 0..1.
        stored: True if the choice was kept: not if others used much, or if nothing can be written.
    """

    model: str
    drafter: str | None
    numerics: str
    n_cells: int
    usual: Threads
    chosen: Threads
    decode_s: dict[int, float]
    verify_s: dict[int, float]
    verify_rows: int
    passes_s: dict[int, float]
    level_s: float | None
    reading_s: float | None
    depths: list[DepthCost]
    alternatives: list[Alternative]
    n_turns: int
    others: float
    stored: bool

    @property
    def gain(self) -> dict[str, float]:
        """How much faster the chosen threads are than the usual ones; 1.0 for the same."""
        found = {"decode": self.decode_s[self.usual.decode] / self.decode_s[self.chosen.decode]}
        if self.verify_s:
            found["verify"] = self.verify_s[self.usual.verify] / self.verify_s[self.chosen.verify]
        return found

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        gain = {name: round(x, 3) for name, x in self.gain.items()}
        return {"version": VERSION, **asdict(self), "gain": gain}
