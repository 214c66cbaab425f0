"""Files fetched side by side: one generator, the first error ends all, no thread is left."""

import threading
import time

import pytest

from localspec.errors import NotFoundError
from localspec.events import Notice, PullEvent
from localspec.store.crew import Emit, together
from localspec.store.meter import Meter


def _endless(emit: Emit, stop: threading.Event) -> None:
    meter = Meter("a", None, emit, stop)
    for done in range(10**9):
        meter.at(done)
        time.sleep(0.005)


def _none_left() -> bool:
    return not [thread for thread in threading.enumerate() if "_work" in thread.name]


def test_jobs_run_at_the_same_time() -> None:
    """Both files of a pair at once: each job waits here for the other."""
    meeting = threading.Barrier(2, timeout=5)

    def job(emit: Emit, stop: threading.Event) -> None:
        meeting.wait()
        emit(Notice("met"))

    assert list(together([job, job])) == [Notice("met")] * 2
    assert _none_left()


def test_more_jobs_than_threads_all_run() -> None:
    def job(emit: Emit, stop: threading.Event) -> None:
        emit(Notice("ran"))

    assert len(list(together([job] * 11))) == 11
    assert list(together([])) == []


def test_the_first_error_stops_the_others_and_is_raised() -> None:
    def failing(emit: Emit, stop: threading.Event) -> None:
        raise NotFoundError("gone")

    with pytest.raises(NotFoundError, match="gone"):
        list(together([_endless, failing, _endless]))
    assert _none_left()


def test_an_interrupt_in_the_consumer_stops_all() -> None:
    def consume() -> None:
        events = together([_endless, _endless])
        try:
            for _ in events:
                raise KeyboardInterrupt
        finally:
            events.close()

    with pytest.raises(KeyboardInterrupt):
        consume()
    assert _none_left()


def test_progress_never_falls_and_never_passes_the_total() -> None:
    seen: list[PullEvent] = []
    meter = Meter("a", 100, seen.append, threading.Event())
    for done in (10, 120, 90, 100):
        meter.at(done)
        time.sleep(0.11)
    figures = [event.done for event in seen]  # type: ignore[union-attr]
    assert figures == [10, 100, 100, 100]
