"""A file from the Hub arrives whole and checked, or not at all; what arrived is gone on from."""

import errno
import hashlib
import random
import threading
from pathlib import Path

import pytest
from huggingface_hub import constants, scan_cache_dir

from localspec.errors import LocalspecError, NotFoundError, OutOfResourcesError
from localspec.events import PullFinished, PullProgress
from localspec.sources import FileSource
from localspec.store import disk, download, halffile
from localspec.store.download import describe
from localspec.store.pull import fetch, locate
from tests.hub_server import COMMIT, FakeHub, Repo

DATA = random.Random(1).randbytes(900_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
SOURCE = FileSource("org/m", "m-Q4_0.gguf")


@pytest.fixture
def incomplete(hub: FakeHub) -> Path:
    """Serves SOURCE; returns where its bytes lie until all are there."""
    hub.repos["org/m"] = Repo({"m-Q4_0.gguf": DATA})
    return describe(SOURCE).incomplete


def _leave(incomplete: Path, data: bytes) -> None:
    incomplete.parent.mkdir(parents=True)
    incomplete.write_bytes(data)


def test_a_file_lands_in_the_shared_cache(hub: FakeHub, incomplete: Path, cache: Path) -> None:
    """huggingface_hub itself must find it: name, commit and branch as it files them."""
    *progress, end = list(fetch([SOURCE]))
    assert isinstance(end, PullFinished)
    assert Path(end.path).read_bytes() == DATA
    assert Path(end.path) == locate(SOURCE)
    assert (end.source, end.cached) == ("Hugging Face, org/m", False)
    last = progress[-1]
    assert isinstance(last, PullProgress)
    assert (last.done, last.total, last.resumed) == (len(DATA), len(DATA), 0)
    (repo,) = scan_cache_dir(cache).repos
    (revision,) = repo.revisions
    assert (repo.repo_id, revision.commit_hash) == ("org/m", COMMIT)
    assert revision.refs == frozenset({"main"})
    assert not incomplete.exists()


def test_the_token_goes_to_the_hub_and_never_to_its_file_server(
    hub: FakeHub, incomplete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos["org/m"].gated = True
    with pytest.raises(LocalspecError, match="gated") as caught:
        list(fetch([SOURCE]))
    assert caught.value.exit_code == 1
    assert f"{hub.endpoint}/org/m" in str(caught.value.hint)
    assert "hf auth login" in str(caught.value.hint)
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    list(fetch([SOURCE]))
    assert {s.token for s in hub.seen if s.origin == "files"} == {None}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (FileSource("org/none", "a.gguf"), "no repo org/none"),
        (FileSource("org/m", "other.gguf"), "no file other.gguf"),
        (FileSource("org/m", "m-Q4_0.gguf", "b" * 40), "no such revision"),
    ],
)
def test_what_is_not_there_is_named(incomplete: Path, source: FileSource, words: str) -> None:
    with pytest.raises(NotFoundError, match=words):
        list(fetch([source]))


def test_an_interrupted_pull_goes_on_where_it_was(hub: FakeHub, incomplete: Path) -> None:
    _leave(incomplete, DATA[:500_000])
    events = list(fetch([SOURCE]))
    assert hub.ranges() == ["bytes=500000-"]
    first = events[0]
    assert isinstance(first, PullProgress)
    assert (first.done, first.resumed) == (500_000, 500_000)
    path = locate(SOURCE)
    assert path is not None and path.read_bytes() == DATA


def test_all_bytes_there_but_not_filed_are_not_fetched_again(
    hub: FakeHub, incomplete: Path
) -> None:
    _leave(incomplete, DATA)
    list(fetch([SOURCE]))
    assert hub.ranges() == []
    assert locate(SOURCE) is not None


@pytest.mark.parametrize("left", [b"x" * 500_000, DATA + b"more"])
def test_a_bad_half_file_is_thrown_away_once(hub: FakeHub, incomplete: Path, left: bytes) -> None:
    """A resumed file whose hash is wrong must not be kept, nor be the end of it."""
    _leave(incomplete, left)
    list(fetch([SOURCE]))
    assert hub.ranges()[-1] == "bytes=0-"
    path = locate(SOURCE)
    assert path is not None and path.read_bytes() == DATA


def test_wrong_bytes_are_refused_and_removed(hub: FakeHub, incomplete: Path) -> None:
    hub.flip = True
    with pytest.raises(LocalspecError, match="arrived damaged"):
        list(fetch([SOURCE]))
    assert not incomplete.exists()
    assert locate(SOURCE) is None


def test_another_file_than_the_recipe_knows_is_refused_before_it_is_fetched(
    hub: FakeHub, incomplete: Path
) -> None:
    with pytest.raises(LocalspecError, match="not the file that was tested"):
        list(fetch([FileSource("org/m", "m-Q4_0.gguf", sha256="a" * 64)]))
    assert hub.ranges() == []


def test_a_broken_connection_is_taken_up_again(hub: FakeHub, incomplete: Path) -> None:
    hub.break_after, hub.breaks = 300_000, 2
    list(fetch([SOURCE]))
    assert len(hub.ranges()) == 3
    assert locate(SOURCE) is not None


def test_a_server_without_ranges_sends_all_again(hub: FakeHub, incomplete: Path) -> None:
    _leave(incomplete, b"x" * 100)
    hub.ignore_range = True
    list(fetch([SOURCE]))
    path = locate(SOURCE)
    assert path is not None and path.read_bytes() == DATA


def test_a_connection_that_stays_broken_keeps_what_came(
    hub: FakeHub, incomplete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_TRIES", 2)
    hub.break_after, hub.breaks = 0, 99
    _leave(incomplete, DATA[:1000])
    with pytest.raises(LocalspecError, match="cannot be reached") as caught:
        list(fetch([SOURCE]))
    assert "goes on from there" in str(caught.value.hint)
    assert incomplete.read_bytes() == DATA[:1000]
    assert locate(SOURCE) is None


def test_a_proxy_page_is_no_hub(hub: FakeHub) -> None:
    """A log-in page answers 200 to everything; its HTML must not be taken for a model."""
    hub.status = 200
    with pytest.raises(LocalspecError, match="no Hub"):
        list(fetch([SOURCE]))


def test_a_full_disk_is_told_before_the_first_byte(
    hub: FakeHub, incomplete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda folder: disk.MARGIN + len(DATA) - 1)
    with pytest.raises(OutOfResourcesError, match="download needs"):
        list(fetch([SOURCE]))
    assert hub.ranges() == []


def test_a_half_file_needs_only_the_rest(
    hub: FakeHub, incomplete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _leave(incomplete, DATA[:1])
    monkeypatch.setattr(disk, "free_bytes", lambda folder: disk.MARGIN + len(DATA) - 1)
    list(fetch([SOURCE]))


def test_a_disk_that_fills_up_meanwhile(
    hub: FakeHub, incomplete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: halffile.HalfFile, chunk: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(halffile.HalfFile, "write", full)
    with pytest.raises(OutOfResourcesError, match="is full"):
        list(fetch([SOURCE]))


def test_a_cache_that_cannot_be_written(hub: FakeHub, incomplete: Path, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    with pytest.raises(LocalspecError, match="Cannot write to"):
        list(fetch([SOURCE]))


def test_where_links_cannot_be_made_the_file_is_kept_once(
    hub: FakeHub, incomplete: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows without developer mode: a blob and a copy of it would take the disk twice."""
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS", True)
    list(fetch([SOURCE]))
    sizes = [p.stat().st_size for p in cache.rglob("*") if p.is_file() and not p.is_symlink()]
    assert sizes.count(len(DATA)) == 1
    hub.seen.clear()
    list(fetch([SOURCE]))
    assert hub.seen == []


def test_a_pull_that_is_given_up_stops_its_threads(hub: FakeHub, incomplete: Path) -> None:
    """Closing the generator is what Ctrl-C in the terminal comes to."""
    hub.bytes_per_s = 300_000
    events = fetch([SOURCE])
    for event in events:
        if isinstance(event, PullProgress) and event.done > 0:
            break
    events.close()
    assert not [thread for thread in threading.enumerate() if "_work" in thread.name]
    assert 0 < incomplete.stat().st_size < len(DATA)
