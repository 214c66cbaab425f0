"""Measures a pair on this machine within a time budget, chooses threads, and keeps what it found.

Thread numbers, rows and ways of running are timed in turn, again and again in another order, and
medians compared: whatever disturbs the machine meanwhile hits all of them alike.
"""

import random
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from time import perf_counter
from typing import TypeVar

import psutil

from localspec.engine.cost import CostTable
from localspec.engine.margin import MarginDepth
from localspec.events import Loading
from localspec.llama.blocks import BlockContext
from localspec.llama.devices import computes_on_gpu
from localspec.llama.heads import HeadContext
from localspec.llama.passes import TimedPasses
from localspec.llama.threads import thread_counts
from localspec.load import OtherLoad
from localspec.pair import LocalPair
from localspec.params import Threads
from localspec.profile import ProfileKey, load_profile, save_profile, save_threads
from localspec.runtime import Runtime, Wishes
from localspec.tuned import MOST_BY_OTHERS, Alternative, DepthCost, Tuned

_N_CELLS = 256
_VERIFY_ROWS = 5
"""Rows of a pass that threads for drafts are chosen by."""

_MOST_TURNS = 15
_NO_MATTER = 0.02
"""A difference below this part is none: then the fewer threads leave more of the machine to others."""

_READING = 64
"""Tokens of the pass that reading is timed by."""

_ROOM = 1.2
"""Memory that must be free for a second copy of the target, in sizes of its file."""

_THREADS, _TABLE, _OTHERS = "threads", "passes", "other ways of running"
_SHARES = {_THREADS: 0.4, _TABLE: 0.75, _OTHERS: 1.0}
"""When each part has to be through, as a part of the budget."""


Job = TypeVar("Job", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Step:
    """How far tuning is: what it measures now, and the part of the budget that is used, 0..1."""

    what: str
    fraction: float


class Tuner:
    """Tunes one pair; iterate over `run` to its end, then ask for the `report`.

    Args:
        pair: files that are here.
        wishes: how they will be run; its threads and depth are not looked at.
        budget_s: seconds that measuring may take, loading included; everything is timed once at least.
        on_loading: told how far loading is.
    """

    def __init__(
        self,
        pair: LocalPair,
        wishes: Wishes,
        budget_s: float,
        on_loading: Callable[[Loading], None] | None = None,
    ) -> None:
        self._pair, self._budget_s, self._on_loading = pair, budget_s, on_loading
        self._wishes = replace(wishes, n_threads=None, profile=False)
        self._random = random.Random(0)
        self._n_turns = _MOST_TURNS
        self._started = perf_counter()
        self._report: Tuned | None = None

    @property
    def report(self) -> Tuned:
        """What was found.

        Raises:
            ValueError: `run` was not iterated to its end.
        """
        if self._report is None:
            raise ValueError("nothing was measured to the end")
        return self._report

    def run(self) -> Iterator[Step]:
        """Measure, choose and keep.

        Raises:
            LocalspecError: as opening the pair does.
        """
        self._started = perf_counter()
        with ExitStack() as stack:
            runtime = stack.enter_context(self._opened(self._wishes))
            bed, load = _Bed(runtime), OtherLoad()
            usual = runtime.threads
            decode_s, verify_s = yield from self._by_threads(bed)
            chosen = Threads(_fewest(decode_s), _fewest(verify_s or decode_s))
            passes_s, level_s, reading_s = yield from self._table(bed, chosen)
            alternatives = yield from self._alternatives(bed, chosen, stack)
            key = replace(runtime.profile_key, threads=chosen)
            others = load.share()
            stored = others < MOST_BY_OTHERS and save_threads(key, chosen)
            if stored:
                _keep(key, runtime, passes_s, level_s, reading_s)
            self._report = Tuned(
                model=runtime.header.name,
                drafter=self._pair.drafter.name if self._pair.drafter else None,
                numerics=runtime.numerics,
                n_cells=bed.n_cells,
                usual=usual,
                chosen=chosen,
                decode_s=decode_s,
                verify_s=verify_s,
                verify_rows=bed.verify_rows,
                passes_s=passes_s,
                level_s=level_s,
                reading_s=reading_s,
                depths=depth_costs(passes_s, level_s or 0.0)
                if level_s or runtime.kind == "lookup"
                else [],
                alternatives=alternatives,
                n_turns=self._n_turns,
                others=others,
                stored=stored,
            )

    def _by_threads(
        self, bed: "_Bed"
    ) -> Generator[Step, None, tuple[dict[int, float], dict[int, float]]]:
        """Median seconds of a one-row and of a wider pass, by numbers of threads."""
        widths = [1] if bed.verify_rows == 1 else [1, bed.verify_rows]
        jobs = {
            (rows, n): partial(bed.target.seconds, rows, Threads(n, n))
            for n in bed.thread_counts
            for rows in widths
        }
        found = yield from self._in_turn(_THREADS, jobs)
        one, more = (
            {n: s for (rows, n), s in found.items() if rows == width} for width in (1, widths[-1])
        )
        return one, more if len(widths) > 1 else {}

    def _table(
        self, bed: "_Bed", threads: Threads
    ) -> Generator[Step, None, tuple[dict[int, float], float | None, float | None]]:
        """Median seconds of each width of pass, of a draft token, and of reading one."""
        jobs: dict[Hashable, Callable[[], float]] = {
            rows: partial(bed.target.seconds, rows, threads) for rows in range(1, bed.n_rows + 1)
        }
        if bed.drafter is not None:
            jobs["level"] = partial(bed.drafter.seconds, 1, threads)
            jobs["reading"] = partial(bed.drafter.seconds, _READING, threads, 1)
        found = yield from self._in_turn(_TABLE, jobs)
        reading = found.get("reading")
        passes = {rows: s for rows, s in found.items() if isinstance(rows, int)}
        return passes, found.get("level"), None if reading is None else reading / _READING

    def _alternatives(
        self, bed: "_Bed", threads: Threads, stack: ExitStack
    ) -> Generator[Step, None, list[Alternative]]:
        """The target run in other ways, beside the usual one, where memory has room for a second copy."""
        room = psutil.virtual_memory().available > _ROOM * bed.runtime.header.size_bytes
        ways = _other_ways(bed.runtime) if room else []
        beds = {_USUAL: bed}
        for way in ways:
            yield Step(_OTHERS, self._used)
            wishes = replace(self._wishes, numerics="fast", flash_attention=way.flash_attention)
            beds[way] = _Bed(stack.enter_context(self._opened(wishes, drafter=False)))
        widths = sorted({1, 2, 4, bed.n_rows} & set(range(1, bed.n_rows + 1)))
        jobs = {
            (way, rows): partial(b.target.seconds, rows, threads)
            for way, b in beds.items()
            for rows in widths
        }
        found = (yield from self._in_turn(_OTHERS, jobs)) if ways else {}
        return [
            Alternative(way.name, way.flag, {n: found[way, n] / found[_USUAL, n] for n in widths})
            for way in ways
        ]

    def _opened(self, wishes: Wishes, *, drafter: bool = True) -> Runtime:
        pair = self._pair if drafter else replace(self._pair, kind="none", drafter=None)
        return Runtime(pair, wishes, self._on_loading)

    @property
    def _used(self) -> float:
        return min((perf_counter() - self._started) / self._budget_s, 1.0)

    def _in_turn(
        self, what: str, jobs: Mapping[Job, Callable[[], float]]
    ) -> Generator[Step, None, dict[Job, float]]:
        """Do all jobs again and again, in another order each time, until this part's time is up."""
        samples: dict[Job, list[float]] = {job: [] for job in jobs}
        for turn in range(_MOST_TURNS):
            if turn and self._used >= _SHARES[what]:
                break
            for job in self._random.sample(list(jobs), len(jobs)):
                samples[job].append(jobs[job]())
                yield Step(what, self._used)
        self._n_turns = min(self._n_turns, *(len(taken) for taken in samples.values()))
        return {job: median(taken) for job, taken in samples.items()}


@dataclass(frozen=True, slots=True)
class _Way:
    """Another way of running a target."""

    name: str
    flag: str | None = None
    flash_attention: bool | None = None


_USUAL = _Way("as usual")


class _Bed:
    """What is timed on one opened pair."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.n_cells = min(_N_CELLS, runtime.target.n_ctx // 2)
        self.n_rows = runtime.max_depth + 1
        self.verify_rows = min(_VERIFY_ROWS, self.n_rows)
        self.thread_counts = [runtime.threads.decode] if computes_on_gpu() else thread_counts()
        self.target = TimedPasses(runtime.target, self.n_cells)
        self.drafter = _timed_drafter(runtime, self.n_cells)


def _timed_drafter(runtime: Runtime, n_cells: int) -> TimedPasses | None:
    """The drafter's passes; None for one without, or with no memory to follow a text in, or where one pass
    makes a whole draft."""
    drafter = runtime.drafter
    if isinstance(drafter, BlockContext):
        return None
    if isinstance(drafter, HeadContext):
        return None if drafter.shares_memory else TimedPasses(drafter, n_cells, drafter.n_embd_out)
    return None if drafter is None else TimedPasses(drafter, n_cells)


def _other_ways(runtime: Runtime) -> list[_Way]:
    ways = [_Way("fast numerics", "--numerics fast")] if runtime.numerics == "exact" else []
    return [*ways, _Way("fast numerics, no flash attention", flash_attention=False)]


def _fewest(seconds: Mapping[int, float]) -> int:
    """The fewest threads that are as fast as the fastest."""
    least = min(seconds.values())
    return min(n for n, s in seconds.items() if s <= least * (1 + _NO_MATTER))


def _keep(
    key: ProfileKey,
    runtime: Runtime,
    passes_s: Mapping[int, float],
    level_s: float | None,
    reading_s: float | None,
) -> None:
    """Have the next start begin with these costs, and with what was learned of texts before."""
    policy = MarginDepth(runtime.max_depth)
    # a file that was tampered with is as good as none
    with suppress(ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        policy.restore(load_profile(key) or {})
    policy.cost = CostTable()
    for rows, seconds in passes_s.items():
        policy.cost.observe_pass(rows, _N_CELLS, seconds)
    if level_s is not None and reading_s is not None:
        policy.cost.observe_level(runtime.kind, 1, 1, level_s)
        policy.cost.observe_level(runtime.kind, 1, _READING, reading_s * _READING)
    save_profile(key, policy.state())


def depth_costs(passes_s: Mapping[int, float], level_s: float) -> list[DepthCost]:
    """What a round costs at each depth, and what its draft must bring for that.

    Args:
        passes_s: rows -> seconds of a pass, from 1 row on.
        level_s: seconds of a draft token.
    """
    found = []
    for depth in range(1, len(passes_s)):
        cost = (depth * level_s + passes_s[depth + 1]) / passes_s[1]
        found.append(DepthCost(depth, cost, _break_even(depth, cost)))
    return found


def _break_even(depth: int, cost: float) -> float | None:
    """The chance p with 1 + p + … + p^depth = cost: every token of a draft needs those before it."""
    if cost > depth + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if sum(middle**i for i in range(depth + 1)) < cost:
            low = middle
        else:
            high = middle
    return high
