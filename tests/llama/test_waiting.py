"""The waits of llama.cpp's threads, asked of the OpenMP library itself in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.llama.waiting import _pauses_long

PROGRAM = "import os, localspec.llama; print(os.environ.get('GOMP_SPINCOUNT'))"
FLAGS = "processor\t: 0\nflags\t\t: fpu sse2 avx2 {}\n"


def loaded(**environment: str) -> tuple[str, str]:
    """What the OpenMP library says of itself while llama.cpp is loaded, and the variable afterwards."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GOMP_", "OMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**clean, "OMP_DISPLAY_ENV": "verbose", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    said = [line for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
    return "".join(said), done.stdout.strip()


@pytest.mark.skipif(not _pauses_long(), reason="not a processor with long pauses under Linux")
def test_waits_are_short_and_the_environment_is_left_alone() -> None:
    said, left = loaded()
    if not said:
        pytest.skip("this build of llama.cpp does not use GNU's OpenMP")
    assert "'2000'" in said
    assert left == "None"


def test_what_the_user_set_counts() -> None:
    said, left = loaded(GOMP_SPINCOUNT="77")
    assert left == "77"
    assert not said or "'77'" in said
    said, left = loaded(OMP_WAIT_POLICY="active")
    assert left == "None"
    assert "'2000'" not in said


def test_only_where_a_pause_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    assert not _pauses_long(cpuinfo)
    cpuinfo.write_text(FLAGS.format("clflushopt xsavec"))
    assert _pauses_long(cpuinfo) == (sys.platform == "linux")
    cpuinfo.write_text(FLAGS.format("xsaveopt"))
    assert not _pauses_long(cpuinfo)
    cpuinfo.write_text("Features\t: fp asimd\n")
    assert not _pauses_long(cpuinfo)
    monkeypatch.setattr(sys, "platform", "darwin")
    cpuinfo.write_text(FLAGS.format("clflushopt"))
    assert not _pauses_long(cpuinfo)
