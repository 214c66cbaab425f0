"""How many threads a pass should use, when nobody says."""

import os
from pathlib import Path

import psutil

_FEW = 6
"""So many numbers of threads are all tried."""


def usable_cores() -> int:
    """Physical cores this process may use: never more than its affinity or its container allows."""
    logical = psutil.cpu_count(logical=True) or 1
    physical = psutil.cpu_count(logical=False) or logical
    allowed = _affinity() or logical
    # An affinity mask counts hardware threads; two of them share a core where SMT is on.
    cores = min(physical, max(1, allowed * physical // logical))
    quota = _cgroup_quota()
    return max(1, min(cores, quota)) if quota else cores


def thread_counts() -> list[int]:
    """Numbers of threads worth trying, ascending: up to all that this process may use, SMT included."""
    most = _affinity() or psutil.cpu_count(logical=True) or 1
    quota = _cgroup_quota()
    most = min(most, quota) if quota else most
    cores = usable_cores()
    if most <= _FEW:
        return list(range(1, most + 1))
    return sorted({1, cores // 4 or 1, cores // 2, 3 * cores // 4, cores - 1, cores, most})


def _affinity() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return None


def _cgroup_quota(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Whole CPUs of a container's quota (Linux control groups, version 2, then 1)."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (root / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return max(1, int(quota) // int(period))
