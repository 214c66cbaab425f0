"""A recipe: a named pair of target and drafters with its settings, from a TOML file.

The schema is strict, so a typing error is found when the file is read. It knows no cache and no
network: `pair.py` turns a recipe into files.
"""

import difflib
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from localspec import paths
from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.sources import FileSource

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

DEFAULT_RECIPE = "qwen2.5-coder-1.5b"

RecipeDrafterKind = Literal["draft-model", "lookup", "mtp", "mtp-embedded", "eagle3", "dflash"]

_MEND = f"Mend it, or take it away. A sound one to compare with: localspec recipes {DEFAULT_RECIPE}"

_WITH_FILE = ("draft-model", "mtp", "eagle3", "dflash")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Source(_Strict):
    repo: str | None = None
    file: str | None = None
    revision: str | None = None
    sha256: str | None = None
    size: Annotated[int, Field(gt=0)] | None = None
    packages: tuple[str, ...] = ()
    member: str | None = None

    @field_validator("repo")
    @classmethod
    def _is_a_repo(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[^/\s]+/[^/\s]+", value):
            raise ValueError("must be like org/name")
        return value

    @field_validator("sha256")
    @classmethod
    def _is_a_sum(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[0-9a-f]{64}", value):
            raise ValueError("must be 64 hexadecimal digits, the letters small")
        return value

    @model_validator(mode="after")
    def _has_a_place(self) -> "_Source":
        if self.repo is None and not self.packages:
            raise ValueError("names neither a repo nor packages")
        if self.repo is not None and self.file is None:
            raise ValueError("names a repo but no file in it")
        if self.packages and (self.sha256 is None or self.size is None):
            raise ValueError("names packages without the sha256 and the size of the file in them")
        return self

    def place(self) -> FileSource:
        return FileSource(**self.model_dump())


class SamplingDefaults(_Strict):
    """What the model's maker recommends; None where nothing is said. See `params.SamplingParams`."""

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    repeat_penalty: Annotated[float, Field(gt=0)] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


class Verified(_Strict):
    """What was really run.

    Attributes:
        what: the command or test.
        machine: on what.
        result: what came of it, with figures.
        date: day of the run.
        versions: of localspec and of what it ran on.
    """

    what: str
    machine: str
    result: str
    date: str
    versions: str


class DrafterEntry(_Strict):
    """One way to draft for the target.

    Attributes:
        kind: which drafter.
        source: its file, for the kinds that have one.
        note: what to know about it.
    """

    kind: RecipeDrafterKind
    source: _Source | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "DrafterEntry":
        if self.kind in _WITH_FILE and self.source is None:
            raise ValueError(f"is of kind {self.kind}, so it needs a source")
        if self.kind not in _WITH_FILE and self.source is not None:
            raise ValueError(f"is of kind {self.kind}, so it has no source of its own")
        return self

    @property
    def file(self) -> FileSource | None:
        """Where its file is to be had."""
        return self.source.place() if self.source else None


class _RecipeFile(_Strict):
    summary: str
    licence: str
    licence_url: str | None = None
    minimum_memory_gb: Annotated[float, Field(gt=0)]
    n_ctx: Annotated[int, Field(gt=0)] | None = None
    template: str | None = None
    note: str | None = None
    verified: Verified | None
    target: _Source
    drafters: Annotated[tuple[DrafterEntry, ...], Field(min_length=1)]
    sampling: SamplingDefaults = SamplingDefaults()

    @field_validator("verified", mode="before")
    @classmethod
    def _run_or_not_yet(cls, value: object) -> object:
        if value == "not yet":
            return None
        if not isinstance(value, dict):
            raise ValueError('must be "not yet" or a table of what was run')
        return value


class Recipe:
    """A recipe that was read.

    Attributes:
        name: the file's name without its ending.
        path: the file.
        summary: one line about the pair.
        licence: of the weights (SPDX where there is one), with its page in `licence_url`.
        minimum_memory_gb: memory the pair needs with its default context.
        n_ctx: default context, None for localspec's own.
        template: chat template that replaces the file's own: a name or a path; None for none.
        note: what to know about it.
        verified: what was run with it; None if nothing was yet.
        target: where the target's file is to be had.
        drafters: ways to draft, the preferred one first.
        sampling: sampling defaults.
    """

    def __init__(self, name: str, path: Path, content: _RecipeFile) -> None:
        self.name = name
        self.path = path
        self.summary = content.summary
        self.licence = content.licence
        self.licence_url = content.licence_url
        self.minimum_memory_gb = content.minimum_memory_gb
        self.n_ctx = content.n_ctx
        self.template = content.template
        self.note = content.note
        self.verified = content.verified
        self.target = content.target.place()
        self.drafters = content.drafters
        self.sampling = content.sampling


def load_recipe(name: str) -> Recipe:
    """The recipe of that name; the user's own ones win over those shipped.

    Raises:
        NotFoundError: there is none.
        UnsupportedFileError: its file does not follow the schema.
    """
    files = _files()
    if name in files:
        return read_recipe(files[name])
    names = sorted(files)
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    raise NotFoundError(
        f"There is no recipe '{name}'.",
        f"Did you mean {close[0]}? All recipes: localspec recipes"
        if close
        else "All recipes: localspec recipes",
    )


def recipe_names() -> list[str]:
    """Names of all recipes, sorted; reads file names only."""
    return sorted(_files())


def list_recipes() -> list[Recipe]:
    """All recipes, sorted by name.

    Raises:
        UnsupportedFileError: a file does not follow the schema.
    """
    return [load_recipe(name) for name in recipe_names()]


def recipe_folders() -> tuple[Path, ...]:
    """Where recipes are looked for: the user's own, then the shipped ones (wheel, then checkout)."""
    package = Path(__file__).parent
    return paths.config_dir() / "recipes", package / "_recipes", package.parent / "recipes"


def _files() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in recipe_folders():
        for path in folder.glob("*.toml"):
            if path.is_file():
                found.setdefault(path.stem, path)
    return found


def read_recipe(path: Path) -> Recipe:
    """Read one recipe file.

    Raises:
        UnsupportedFileError: it is no TOML, or does not follow the schema.
    """
    try:
        # -sig, since Windows editors put a byte order mark in front
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        # As JSON: strict there means that a list may still become a tuple, and a date is text.
        content = _RecipeFile.model_validate_json(json.dumps(data, default=str))
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(f"The recipe {path} is not UTF-8 text.", _MEND) from error
    except tomllib.TOMLDecodeError as error:
        raise UnsupportedFileError(
            f"The recipe {path} is not valid TOML: {error}.", _MEND
        ) from error
    except RecursionError as error:
        raise UnsupportedFileError(f"The recipe {path} is nested too deeply.", _MEND) from error
    except ValidationError as error:
        first = error.errors()[0]
        # people count from 1
        place = [str(part + 1 if isinstance(part, int) else part) for part in first["loc"]]
        raise UnsupportedFileError(
            f"The recipe {path} is wrong: {'.'.join(place)} {_in_words(first)}.", _MEND
        ) from error
    return Recipe(path.stem, path, content)


def _in_words(error: "ErrorDetails") -> str:
    """What a field must be, without the words of a validator."""
    limits = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is not a field of a recipe"
        case "string_type":
            return "must be text in quotes"
        case "int_type" | "int_from_float":
            return "must be a whole number"
        case "float_type" | "finite_number":
            return "must be a number"
        case "tuple_type":
            return "must be a list"
        case "model_type" | "model_attributes_type":
            return "must be a table"
        case "too_short":
            return "is empty"
        case "greater_than":
            return f"must be more than {limits['gt']:g}"
        case "greater_than_equal":
            return f"must be {limits['ge']:g} or more"
        case "less_than_equal":
            return f"must be {limits['le']:g} or less"
        case "literal_error":
            return f"must be {limits['expected']}"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case _:
            return f"is not right ({error['msg']})"
