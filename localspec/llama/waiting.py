"""How long llama.cpp's threads wait awake for each other, where GNU's OpenMP runs them.

They meet after every operation of a pass, and libgomp lets a thread that is early spin for many
milliseconds. Beside a busy process that is fatal: the system counts the spinning as work and takes
the time from the thread that is late. Shorter spinning costs nothing when the machine is quiet, since
waits are short then. Measured on two cores of a Xeon, Qwen2.5-Coder-1.5B Q4_K_M, a pass of one row:
quiet 73 ms either way; beside one busy process 243 ms by default, 160 ms with `_SPINS`, and 138 ms on
one thread, for which a core was free.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SPINS = "2000"
"""About 30 to 100 µs. With a tenth of that quiet passes get slower: threads sleep and wake too often."""

_VARIABLE = "GOMP_SPINCOUNT"
_WISHES = (_VARIABLE, "OMP_WAIT_POLICY")
_LONG_PAUSE = "clflushopt"
"""Processors with this instruction (Intel since Skylake, AMD since Zen) pause for 40 to 140 cycles a
spin. On others a spin is so short that the same number would be none."""


@contextmanager
def short_waits() -> Iterator[None]:
    """Load llama.cpp in here. The environment is left as it was; what the user set there counts."""
    if any(name in os.environ for name in _WISHES) or not _pauses_long():
        yield
        return
    os.environ[_VARIABLE] = _SPINS
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def _pauses_long(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """True on processors whose pauses are known to be long enough, under Linux."""
    if sys.platform != "linux":
        return False
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return _LONG_PAUSE in flags.split()
