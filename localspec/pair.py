"""From what the user typed to the two files of a pair, wherever they lie.

`choose` decides without touching the network which target and which drafter are meant; `obtain`
brings what is missing here. `runtime.py` opens the result.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localspec.errors import NotFoundError
from localspec.events import PullEvent
from localspec.recipe import Recipe, load_recipe
from localspec.sources import FileSource
from localspec.store.hub import resolve
from localspec.store.pull import fetch, locate
from localspec.store.refs import HubFile, HubRepo, LocalFile, RecipeName, parse_ref

DrafterKind = Literal["none", "lookup", "draft-model"]
Place = Path | FileSource


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and what drafts for it.

    Attributes:
        name: the model as the user typed it.
        target: its file.
        kind: which drafter to run.
        drafter: the drafter's file, for kind "draft-model".
        recipe: the recipe it comes from, None for a model of the user's own.
    """

    name: str
    target: Place
    kind: DrafterKind
    drafter: Place | None
    recipe: Recipe | None


@dataclass(frozen=True, slots=True)
class LocalPair:
    """A pair whose files are here. Attributes as in `Pair`."""

    name: str
    target: Path
    kind: DrafterKind
    drafter: Path | None
    recipe: Recipe | None


def choose(model: str, drafter: str = "auto", *, offline: bool = False) -> Pair:
    """Which files are meant by `-m MODEL -d DRAFTER`.

    Args:
        model: recipe name, org/name, org/name:QUANT, org/name/file.gguf or a path.
        drafter: "auto" (the recipe's first one that this version runs, else look-up), "none", "lookup",
            or a model in one of the forms above.
        offline: do not ask the Hub which files a repo has.

    Raises:
        NotFoundError: no such recipe, repo or file.
        UsageError: `model` has none of the forms.
    """
    target, recipe = _place(model, offline)
    match drafter:
        case "none":
            return Pair(model, target, "none", None, recipe)
        case "lookup":
            return Pair(model, target, "lookup", None, recipe)
        case "auto":
            kind, place = _preferred(recipe)
            return Pair(model, target, kind, place, recipe)
        case _:
            return Pair(model, target, "draft-model", _place(drafter, offline)[0], recipe)


def sources(pair: Pair) -> list[FileSource]:
    """The files of a pair that are to be had from elsewhere."""
    return [place for place in (pair.target, pair.drafter) if isinstance(place, FileSource)]


def obtain(pair: Pair, *, offline: bool = False) -> Iterator[PullEvent]:
    """Fetch what is not here yet; yields nothing if all is.

    Raises:
        LocalspecError: as `store.pull.fetch` does.
    """
    missing = [source for source in sources(pair) if locate(source) is None]
    if missing:
        yield from fetch(missing, offline=offline)


def located(pair: Pair) -> LocalPair:
    """The pair with the paths of its files.

    Raises:
        NotFoundError: a file is not here.
    """
    target = _path(pair.target, pair.name)
    drafter = None if pair.drafter is None else _path(pair.drafter, pair.name)
    return LocalPair(pair.name, target, pair.kind, drafter, pair.recipe)


def _place(model: str, offline: bool) -> tuple[Place, Recipe | None]:
    match parse_ref(model):
        case LocalFile(path):
            return path, None
        case RecipeName(name):
            recipe = load_recipe(name)
            return recipe.target, recipe
        case HubFile() | HubRepo() as ref:
            return resolve(ref, offline=offline), None


def _preferred(recipe: Recipe | None) -> tuple[DrafterKind, FileSource | None]:
    for entry in recipe.drafters if recipe else ():
        match entry.kind:
            case "lookup":
                return "lookup", None
            case "draft-model" if entry.file is not None:
                return "draft-model", entry.file
    return "lookup", None


def _path(place: Place, name: str) -> Path:
    if isinstance(place, Path):
        return place
    path = locate(place)
    if path is None:
        raise NotFoundError(f"A file of {name} is not on this machine.", f"localspec pull {name}")
    return path
