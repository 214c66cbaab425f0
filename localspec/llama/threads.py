"""How many threads a pass should use, when nobody says."""

from pathlib import Path

from localspec.llama.cores import fast_cores, hardware_threads

_FEW = 6
"""So many numbers of threads are all tried."""


def usable_cores() -> int:
    """Physical performance cores this process may use: never more than its container allows."""
    cores, quota = fast_cores(), _cgroup_quota()
    return min(cores, quota) if quota else cores


def thread_counts() -> list[int]:
    """Numbers of threads worth trying, ascending: up to all that this process may use, SMT included."""
    most, quota = hardware_threads(), _cgroup_quota()
    most = min(most, quota) if quota else most
    cores = usable_cores()
    if most <= _FEW:
        return list(range(1, most + 1))
    some = (cores // 4, cores // 2, 3 * cores // 4, cores - 1)
    return sorted({1, *filter(None, some), cores, most})


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
