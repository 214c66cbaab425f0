"""`localspec pull` and `localspec models`: every form of a name, and both files of a recipe."""

import json
import os
from pathlib import Path

import pytest

from localspec.cli.models import models
from localspec.cli.pull import pull
from localspec.errors import NotFoundError
from localspec.pair import choose, located, obtain
from localspec.sources import FileSource
from localspec.store.pull import locate
from tests.hub_server import FakeHub, Repo

_RECIPE = """
summary = "A pair."
licence = "MIT"
minimum_memory_gb = 1
verified = "not yet"
[target]
repo = "org/big"
file = "big-Q4_0.gguf"
[[drafters]]
kind = "draft-model"
[drafters.source]
repo = "org/small"
file = "small-Q4_0.gguf"
"""


@pytest.fixture
def pair(hub: FakeHub) -> None:
    """A recipe of the user's own, and the files it names on the Hub."""
    recipes = Path(os.environ["LOCALSPEC_HOME"]) / "config" / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "mine.toml").write_text(_RECIPE)
    hub.repos["org/big"] = Repo({"big-Q4_0.gguf": b"big", "big-Q8_0.gguf": b"bigger"})
    hub.repos["org/small"] = Repo({"small-Q4_0.gguf": b"small"})


def _here(repo: str, file: str) -> bool:
    return locate(FileSource(repo, file)) is not None


def test_a_recipe_brings_its_pair(pair: None) -> None:
    pull(["mine"], quiet=True)
    assert _here("org/big", "big-Q4_0.gguf") and _here("org/small", "small-Q4_0.gguf")
    assert not _here("org/big", "big-Q8_0.gguf")


def test_several_names_at_once(pair: None, tmp_path: Path) -> None:
    local = tmp_path / "local.gguf"
    local.write_bytes(b"GGUF")
    pull(["org/big:Q8_0", "org/small/small-Q4_0.gguf", str(local)], quiet=True)
    assert _here("org/big", "big-Q8_0.gguf") and _here("org/small", "small-Q4_0.gguf")
    assert not _here("org/big", "big-Q4_0.gguf")


def test_quiet_says_nothing_and_else_all_goes_to_stderr(
    pair: None, capsys: pytest.CaptureFixture[str]
) -> None:
    pull(["org/small"], quiet=True)
    assert capsys.readouterr() == ("", "")
    pull(["org/small"])
    out, errors = capsys.readouterr()
    assert out == "" and "small-Q4_0.gguf is already here (Hugging Face, org/small)" in errors


def test_a_recipe_that_is_not_there(pair: None) -> None:
    with pytest.raises(NotFoundError, match="no recipe 'mime'"):
        pull(["mime"])


def test_offline_names_what_to_type(pair: None) -> None:
    """The recipe's name, which brings both files, and not the files one by one."""
    chosen = choose("mine")
    for act in (
        lambda: pull(["mine"], quiet=True, offline=True),
        lambda: list(obtain(chosen, offline=True)),
        lambda: located(chosen),
    ):
        with pytest.raises(NotFoundError, match=r"big-Q4_0\.gguf and org/small/") as caught:
            act()
        assert str(caught.value.hint).endswith("localspec pull mine")
    with pytest.raises(NotFoundError) as caught:
        located(choose("mine", "org/small/small-Q4_0.gguf"))
    assert "pull mine" in str(caught.value.hint)
    with pytest.raises(NotFoundError) as caught:
        list(obtain(choose("mine", "org/other/o.gguf"), offline=True))
    assert str(caught.value.hint).endswith("pull org/big/big-Q4_0.gguf org/other/o.gguf")


def test_models_lists_what_was_pulled(pair: None, capsys: pytest.CaptureFixture[str]) -> None:
    models(json=True)
    assert json.loads(capsys.readouterr().out) == {"version": 1, "models": []}
    models()
    out, errors = capsys.readouterr()
    assert out == "" and "localspec pull" in errors
    pull(["mine"], quiet=True)
    models(json=True)
    listed = json.loads(capsys.readouterr().out)["models"]
    assert [(m["name"], m["size_bytes"]) for m in listed] == [
        ("org/big/big-Q4_0.gguf", 3),
        ("org/small/small-Q4_0.gguf", 5),
    ]
    assert listed[1]["recipes"] == [{"name": "mine", "role": "drafter"}]
    models()
    assert "org/big/big-Q4_0.gguf" in capsys.readouterr().out
