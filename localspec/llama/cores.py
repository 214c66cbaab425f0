"""Which processor cores this process should compute on: physical ones, and of unlike ones the fast.

A pass is as slow as its slowest thread, so efficiency cores hold the others up, and a second hardware
thread of a core adds nothing (llama.cpp counts alike, `common_cpu_get_num_math`).
"""

import os
import subprocess
import sys
from pathlib import Path

import psutil

_SLOW = 0.75
"""A core with less than this part of the highest capacity is an efficiency core (Linux scales the
fastest to 1024; the small cores of phones and laptops are at 300 to 700)."""


def fast_cores() -> int:
    """Physical performance cores that this process may use, 1 or more."""
    found = None
    if sys.platform == "darwin":
        found = _performance_cores_of_a_mac()
    elif sys.platform == "linux":
        found = cores_among(os.sched_getaffinity(0))
    return found or _physical_cores()


def hardware_threads() -> int:
    """Hardware threads that this process may use, 1 or more."""
    if sys.platform == "darwin":
        return psutil.cpu_count(logical=True) or 1
    return len(psutil.Process().cpu_affinity() or ()) or psutil.cpu_count(logical=True) or 1


def cores_among(allowed: set[int], devices: Path = Path("/sys/devices")) -> int | None:
    """Physical cores behind some hardware threads, of unlike ones the fast ones only (Linux).

    Args:
        allowed: numbers of the hardware threads.
        devices: where the kernel tells of them.

    Returns:
        None where the kernel does not tell.
    """
    fast = allowed & _named_fast(devices) or allowed & _capable(allowed, devices) or allowed
    cores = {
        _text(devices / f"system/cpu/cpu{number}/topology/thread_siblings_list") for number in fast
    }
    return None if "" in cores else len(cores) or None


def _named_fast(devices: Path) -> set[int]:
    """What Linux lists as performance cores of an Intel processor that has two kinds."""
    found: set[int] = set()
    for part in filter(None, _text(devices / "cpu_core/cpus").split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _capable(allowed: set[int], devices: Path) -> set[int]:
    """Those with a capacity near that of the fastest, where the kernel says (ARM, newer x86)."""
    files = {number: devices / f"system/cpu/cpu{number}/cpu_capacity" for number in allowed}
    capacities = {number: int(_text(file) or 0) for number, file in files.items()}
    most = max(capacities.values(), default=0)
    return {number for number, capacity in capacities.items() if capacity >= _SLOW * most}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _performance_cores_of_a_mac() -> int | None:
    """Cores of the first performance level; Macs with one kind of core do not know such levels."""
    asked = ["sysctl", "-n", "hw.perflevel0.physicalcpu"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout
        return int(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _physical_cores() -> int:
    logical = psutil.cpu_count(logical=True) or 1
    physical = psutil.cpu_count(logical=False) or logical
    return max(1, min(physical, hardware_threads() * physical // logical))
