"""Draft models are found beside a target and among the stored ones, and only those that fit."""

import shutil
import sys
from pathlib import Path

import pytest

from localspec.pair import choose
from localspec.store.companions import fitting_drafters
from localspec.store.header import read_header
from localspec.store.wheels import wheel_store
from tests.tiny import TinyModels, Variant, Vocabulary


@pytest.fixture
def target(tmp_path: Path, cache: Path, tiny: TinyModels) -> Path:
    """A target of twice and a bit the size of any tiny model: its tail is padding."""
    path = tmp_path / "models" / "qwen-7b.gguf"
    path.parent.mkdir()
    shutil.copy(tiny("llama"), path)
    with path.open("ab") as file:
        file.write(bytes(2_000_000))
    return path


def _found(target: Path) -> list[str]:
    return [found.path.name for found in fitting_drafters(read_header(target))]


def _store(file: Path, name: str) -> None:
    place = wheel_store() / name
    place.mkdir(parents=True)
    shutil.copy(file, place / f"{name}.gguf")


def test_alone_there_is_none(target: Path) -> None:
    """Not even itself, nor a copy by link."""
    (target.parent / "link.gguf").symlink_to(target)
    assert _found(target) == []


def test_the_likeliest_first(target: Path, tiny: TinyModels) -> None:
    """Called like the target before small, wherever it lies, and each under a name to type."""
    other = tiny("qwen2", Variant(vocabulary=Vocabulary(replaced=((139, "x!"),))))
    _store(tiny("qwen2"), "qwen-1b")
    _store(other, "qwen-2b")
    beside = target.parent / "any.gguf"
    shutil.copy(tiny("qwen3"), beside)
    (target.parent / "link.gguf").symlink_to(wheel_store() / "qwen-1b" / "qwen-1b.gguf")
    header = read_header(target)
    first, second = fitting_drafters(header)
    assert (first.name, second) == ("qwen-1b.gguf", (str(beside), beside))
    assert list(fitting_drafters(header, most_read=1)) == [first]
    assert choose(first.name).target == first.path


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_that_leads_to_itself_is_passed_over(target: Path) -> None:
    loop = target.parent / "mtp-x.gguf"
    loop.symlink_to(loop)
    assert _found(target) == []


def test_what_cannot_draft_is_passed_over(target: Path, tiny: TinyModels) -> None:
    """Embedding models, heads, damaged files, and models that are about as large as the target."""
    for name in ("bert", "gemma4-assistant"):
        shutil.copy(tiny(name), target.parent / f"{name}.gguf")
    (target.parent / "broken.gguf").write_bytes(b"GGUF")
    large = target.parent / "large.gguf"
    shutil.copy(tiny("qwen2"), large)
    with large.open("ab") as file:
        file.write(bytes(1_400_000))
    assert _found(target) == []
