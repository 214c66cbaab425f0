"""Which cores count, on processors that are not here: the kernel's files of each, in a folder of ours."""

import os
import sys
from pathlib import Path

import pytest

from localspec.llama.cores import cores_among, fast_cores, hardware_threads
from localspec.llama.threads import _cgroup_quota, thread_counts, usable_cores


def devices(
    folder: Path, cores: list[list[int]], fast: str = "", capacities: dict[int, int] | None = None
) -> Path:
    """What Linux says of a processor: the hardware threads of each core, and which are fast."""
    for core in cores:
        for number in core:
            cpu = folder / f"system/cpu/cpu{number}"
            (cpu / "topology").mkdir(parents=True)
            listed = ",".join(map(str, core))
            (cpu / "topology" / "thread_siblings_list").write_text(f"{listed}\n")
            if capacities:
                (cpu / "cpu_capacity").write_text(f"{capacities[number]}\n")
    if fast:
        (folder / "cpu_core").mkdir()
        (folder / "cpu_core" / "cpus").write_text(f"{fast}\n")
    return folder


def test_two_hardware_threads_of_a_core_count_once(tmp_path: Path) -> None:
    found = devices(tmp_path, [[0, 4], [1, 5], [2, 6], [3, 7]])
    assert cores_among(set(range(8)), found) == 4
    assert cores_among({0, 4}, found) == 1
    assert cores_among({0, 1, 5}, found) == 2


def test_performance_cores_of_an_intel_laptop(tmp_path: Path) -> None:
    pairs = [[2 * i, 2 * i + 1] for i in range(6)]
    found = devices(tmp_path, [*pairs, *([i] for i in range(12, 20))], fast="0-11")
    assert cores_among(set(range(20)), found) == 6
    assert cores_among({0, 1, 2, 12, 13}, found) == 2
    # only efficiency cores allowed: all of those
    assert cores_among({12, 13, 14}, found) == 3


def test_big_cores_of_an_arm_processor(tmp_path: Path) -> None:
    capacities = {0: 280, 1: 280, 2: 280, 3: 280, 4: 870, 5: 870, 6: 870, 7: 1024}
    found = devices(tmp_path, [[i] for i in range(8)], capacities=capacities)
    assert cores_among(set(range(8)), found) == 4
    assert cores_among({0, 1}, found) == 2


def test_a_kernel_that_says_nothing(tmp_path: Path) -> None:
    assert cores_among({0, 1}, tmp_path) is None


def test_this_machine_within_what_is_allowed() -> None:
    assert 1 <= usable_cores() <= fast_cores() <= hardware_threads()
    counts = thread_counts()
    assert counts[0] == 1
    assert usable_cores() in counts
    assert counts == sorted(set(counts))


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is set by Linux's own call")
def test_affinity_is_respected() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert (usable_cores(), hardware_threads()) == (1, 1)
        assert thread_counts() == [1]
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("max 100000", None),
        ("150000 100000", 1),
        ("400000 100000", 4),
        ("5000 100000", 1),
        ("x", None),
    ],
)
def test_a_containers_quota_counts(tmp_path: Path, content: str, expected: int | None) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert _cgroup_quota(tmp_path) == expected
