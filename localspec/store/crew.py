"""Several files at once: one thread each, their events merged into one generator.

It knows nothing of files. `pull.py` hands it one job per file; its events go to whoever pulls.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from localspec.events import PullEvent
from localspec.store.meter import Stopped

Emit = Callable[[PullEvent], None]
Job = Callable[[Emit, threading.Event], None]

_WORKERS = 4
_LEAVE_S = 3.0


@dataclass(frozen=True, slots=True)
class _Ended:
    error: BaseException | None


def together(jobs: Sequence[Job]) -> Generator[PullEvent, None, None]:
    """Run `jobs` side by side, at most four at a time, and yield their events as they come.

    The first error stops the others and is raised here. When the generator is closed, or a
    KeyboardInterrupt passes through it, every thread is told to stop and waited for; one that is
    stuck in a dead connection is a daemon and ends with its read timeout.
    """
    events: queue.SimpleQueue[PullEvent | _Ended] = queue.SimpleQueue()
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    stop = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(waiting, events, stop), daemon=True)
        for _ in range(min(_WORKERS, len(jobs)))
    ]
    try:
        for thread in threads:
            thread.start()
        yield from _merge(events, len(threads))
    finally:
        stop.set()
        deadline = time.monotonic() + _LEAVE_S
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))


def _merge(events: queue.SimpleQueue[PullEvent | _Ended], running: int) -> Iterator[PullEvent]:
    while running:
        try:
            # On Windows a wait without an end cannot be interrupted by Ctrl-C.
            event = events.get(timeout=0.2)
        except queue.Empty:
            continue
        if not isinstance(event, _Ended):
            yield event
        elif event.error is None:
            running -= 1
        else:
            raise event.error


def _work(
    waiting: queue.SimpleQueue[Job],
    events: queue.SimpleQueue[PullEvent | _Ended],
    stop: threading.Event,
) -> None:
    error: BaseException | None = None
    try:
        while (job := _next(waiting)) and not stop.is_set():
            job(events.put, stop)
    except Stopped:
        pass
    except BaseException as caught:
        error = caught
    finally:
        events.put(_Ended(error))


def _next(waiting: queue.SimpleQueue[Job]) -> Job | None:
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return None
