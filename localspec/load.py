"""How much of the processor other processes use."""

import os

import psutil


class OtherLoad:
    """Processor time used by others since this was made."""

    def __init__(self) -> None:
        self._idle, self._all = _machine_times()
        self._own = _own_time()

    def share(self) -> float:
        """The part of all processor time since then that others used, 0.0..1.0."""
        idle, everything = _machine_times()
        passed = everything - self._all
        if passed <= 0:
            return 0.0
        others = passed - (idle - self._idle) - (_own_time() - self._own)
        return min(max(others / passed, 0.0), 1.0)


def _machine_times() -> tuple[float, float]:
    """Idle and all seconds of all processors together."""
    times = psutil.cpu_times()
    # Linux counts a guest's time as user time too
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return times.idle + getattr(times, "iowait", 0.0), sum(times) - guests


def _own_time() -> float:
    used = os.times()
    return used.user + used.system
