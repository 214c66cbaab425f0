"""Real processes pull over HTTP: killed, interrupted, two at once; the result is always whole."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.sources import FileSource
from localspec.store.hub import storage_dir
from localspec.store.pull import locate
from tests.hub_server import FakeHub, Repo

SIZE = 2_000_000
SLOW = 1_000_000
TARGET, DRAFTER = FileSource("org/big", "big-Q4_0.gguf"), FileSource("org/small", "s-Q4_0.gguf")
_PULL = "import sys; from localspec.cli.pull import pull; pull(sys.argv[1:])"


@pytest.fixture
def data(hub: FakeHub) -> dict[FileSource, bytes]:
    """Serves a pair of files, slowly enough to be killed in the middle."""
    made = {s: random.Random(str(s.repo)).randbytes(SIZE) for s in (TARGET, DRAFTER)}
    for source, content in made.items():
        hub.repos[str(source.repo)] = Repo({str(source.file): content})
    hub.bytes_per_s = SLOW
    return made


def _start(*sources: FileSource) -> subprocess.Popen[bytes]:
    names = [f"{source.repo}/{source.file}" for source in sources]
    # A group of its own, so that the interrupt below does not reach the tests.
    return subprocess.Popen(
        [sys.executable, "-c", _PULL, *names], stderr=subprocess.PIPE, start_new_session=True
    )


def _until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _arrived(source: FileSource) -> int:
    halves = (storage_dir(str(source.repo)) / "blobs").glob("*.incomplete")
    return sum(half.stat().st_size for half in halves)


def _finish(process: subprocess.Popen[bytes]) -> str:
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return errors.decode()


def _assert_whole(data: dict[FileSource, bytes]) -> None:
    for source, content in data.items():
        path = locate(source)
        assert path is not None
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(content).digest()


def test_a_pair_killed_twice_is_resumed_both_times(
    hub: FakeHub, data: dict[FileSource, bytes]
) -> None:
    for least in (SIZE // 4, SIZE // 2):
        process = _start(TARGET, DRAFTER)
        _until(lambda least=least: all(_arrived(s) >= least for s in data), process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        assert locate(TARGET) is None and locate(DRAFTER) is None, "half a file taken for whole"
    kept = {_arrived(source) for source in data}
    hub.bytes_per_s = None
    told = _finish(_start(TARGET, DRAFTER))
    _assert_whole(data)
    assert "are here already" in told
    starts = [int(str(header)[6:-1]) for header in hub.ranges()]
    assert starts[:2] == [0, 0]
    assert all(start >= SIZE // 4 for start in starts[2:4])
    assert set(starts[4:]) == kept, "every byte that had arrived is kept"


def test_two_processes_fetch_it_once(hub: FakeHub, data: dict[FileSource, bytes]) -> None:
    first, second = _start(TARGET), _start(TARGET)
    _finish(first)
    _finish(second)
    _assert_whole({TARGET: data[TARGET]})
    assert hub.ranges() == ["bytes=0-"]


def test_when_one_of_two_is_killed_the_other_goes_on(
    hub: FakeHub, data: dict[FileSource, bytes]
) -> None:
    first = _start(TARGET)
    _until(lambda: _arrived(TARGET) > 0, first)
    asked = _heads(hub)
    second = _start(TARGET)
    _until(lambda: _heads(hub) > asked, first)
    first.kill()
    first.communicate()
    kept = _arrived(TARGET)
    _finish(second)
    _assert_whole({TARGET: data[TARGET]})
    assert hub.ranges() == ["bytes=0-", f"bytes={kept}-"]


def _heads(hub: FakeHub) -> int:
    return len([s for s in hub.seen if s.method == "HEAD" and s.origin == "hub"])


@pytest.mark.skipif(os.name == "nt", reason="a console interrupt cannot be sent to one process")
def test_ctrl_c_ends_at_once_and_keeps_what_came(
    hub: FakeHub, data: dict[FileSource, bytes], tmp_path: Path
) -> None:
    process = _start(TARGET)
    _until(lambda: _arrived(TARGET) > 0, process)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.communicate(timeout=10)
    assert time.monotonic() - began < 3
    assert process.returncode != 0
    kept = _arrived(TARGET)
    assert 0 < kept < SIZE
    hub.bytes_per_s = None
    _finish(_start(TARGET))
    _assert_whole({TARGET: data[TARGET]})
    assert hub.ranges()[-1] == f"bytes={kept}-"
