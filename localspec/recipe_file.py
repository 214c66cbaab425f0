"""What a recipe file may say, and in words what is wrong with one: every field at once.

It knows the schema only. `recipe.py` finds the files and makes recipes of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from localspec.faults import Fault, validated

RecipeDrafterKind = Literal[
    "draft-model", "lookup", "mtp", "mtp-embedded", "eagle3", "dflash", "dspark"
]

_WITH_FILE = ("draft-model", "mtp", "eagle3", "dflash", "dspark")
_WITHOUT_FILE = ("lookup", "mtp-embedded")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class SourceTable(_Strict):
    """Where a file is: on this machine (`path`), in a repo of the Hub, in Python packages."""

    path: Annotated[str, Field(min_length=1)] | None = None
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


class DrafterTable(_Strict):
    """One way to draft for the target."""

    kind: RecipeDrafterKind
    source: SourceTable | None = None
    note: str | None = None


class RecipeFile(_Strict):
    """A whole file."""

    summary: str
    licence: str
    licence_url: str | None = None
    minimum_memory_gb: Annotated[float, Field(gt=0)]
    n_ctx: Annotated[int, Field(gt=0)] | None = None
    template: str | None = None
    note: str | None = None
    verified: Verified | None
    target: SourceTable
    drafters: Annotated[tuple[DrafterTable, ...], Field(min_length=1)]
    sampling: SamplingDefaults = SamplingDefaults()

    @field_validator("verified", mode="before")
    @classmethod
    def _run_or_not_yet(cls, value: object) -> object:
        if value == "not yet":
            return None
        if not isinstance(value, dict):
            raise ValueError('must be "not yet" or a table of what was run')
        return value


def check_recipe(data: Mapping[str, Any]) -> RecipeFile | list[Fault]:
    """The content of a recipe file as TOML gives it; or everything that is wrong with it.

    Raises:
        ValueError: a number too long to be read.
    """
    # Not validators: those of a table are left out as soon as one of its fields is wrong.
    faults = list(_fields_together(data))
    content = validated(RecipeFile, data, "a recipe")
    if isinstance(content, list):
        return [*content, *faults]
    return faults or content


def _fields_together(data: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong between fields, each of them right or not."""
    yield from _source_faults(("target",), data.get("target"))
    drafters = data.get("drafters")
    for number, drafter in enumerate(drafters if isinstance(drafters, list) else ()):
        if not isinstance(drafter, dict):
            continue
        place, kind = ("drafters", number, "source"), drafter.get("kind")
        if kind in _WITH_FILE and "source" not in drafter:
            yield Fault(place, f"is missing: the kind {kind} needs a source")
        elif kind in _WITHOUT_FILE and "source" in drafter:
            yield Fault(place, f"has no place: the kind {kind} has no file of its own", True)
            continue
        yield from _source_faults(place, drafter.get("source"))


def _source_faults(place: tuple[str | int, ...], source: object) -> Iterator[Fault]:
    if not isinstance(source, dict):
        return
    if "path" in source:
        for name in SourceTable.model_fields:
            if name != "path" and name in source:
                yield Fault((*place, name), "has no place beside a path", True)
        return
    if "repo" not in source and not source.get("packages"):
        yield Fault(place, "names neither a repo nor packages nor a path")
    if "repo" in source and "file" not in source:
        yield Fault((*place, "file"), "is missing: which file of the repo is it")
    for name in ("sha256", "size"):
        if source.get("packages") and name not in source:
            yield Fault((*place, name), "is missing: files from packages are checked by it")
