"""From what the user typed to the two files of a pair, wherever they lie.

`choose` decides without touching the network which target and which drafter are meant; `obtain`
brings what is missing here. `runtime.py` opens the result.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localspec.errors import LocalspecError, NotFoundError, PairMismatchError
from localspec.events import PullEvent
from localspec.recipe import Place, Recipe, load_recipe
from localspec.sources import FileSource
from localspec.store.architectures import HeadKind, sidecar_kind
from localspec.store.header import Header, read_header
from localspec.store.hub import resolve, resolve_with_head
from localspec.store.listing import find_stored
from localspec.store.pairing import (
    can_draft_itself,
    check_pair,
    fitting_sidecar,
    require_head,
    sidecar_files,
)
from localspec.store.pull import fetch, locate, require_here
from localspec.store.refs import (
    HubFile,
    HubRepo,
    LocalFile,
    ModelRef,
    RecipeName,
    StoredFile,
    first_part,
    parse_ref,
)

DrafterKind = Literal["none", "lookup", "draft-model"] | HeadKind

WishedKind = DrafterKind | Literal["auto"]
"""A drafter as it was asked for: "auto" is decided by what the files turn out to hold."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and what drafts for it.

    Attributes:
        name: the model as the user typed it.
        target: its file.
        kind: which drafter to run; "auto" with a file for whatever kind of drafter that is, and without
            one for the head in the target's own file, or a file beside it, or else look-up.
        drafter: the drafter's file, None for one that needs none.
        recipe: the recipe it comes from, None for a model of the user's own.
        beside: a file of the target's repo that may hold a head for it; `located` looks whether it does.
    """

    name: str
    target: Place
    kind: WishedKind
    drafter: Place | None
    recipe: Recipe | None
    beside: FileSource | None = None


@dataclass(frozen=True, slots=True)
class LocalPair:
    """A pair whose files are here.

    Attributes:
        name: as in `Pair`, and so are the others.
        asked: somebody named this drafter; one that was only found may be left out if it does not run.
    """

    name: str
    target: Path
    kind: WishedKind
    drafter: Path | None
    recipe: Recipe | None
    asked: bool = True


def choose(model: str, drafter: str = "auto", *, offline: bool = False) -> Pair:
    """Which files are meant by `-m MODEL -d DRAFTER`.

    Args:
        model: recipe name, org/name, org/name:QUANT, org/name/file.gguf, a path, or the bare name of
            a stored file.
        drafter: "auto" (the recipe's first one, else a head in the file itself or beside it, else look-up),
            "none", "lookup", "mtp" (the head in the target's own file), or a model or head in one of the
            forms above.
        offline: do not ask the Hub which files a repo has.

    Raises:
        NotFoundError: no such recipe, repo or file.
        UsageError: `model` has none of the forms, or several stored files have the name.
        UnsupportedFileError: the recipe is wrong.
    """
    ref = parse_ref(model)
    if drafter == "auto" and isinstance(ref, HubRepo):
        source, beside = resolve_with_head(ref, offline=offline)
        return Pair(model, source, "auto", None, None, beside)
    target, recipe = _place(ref, offline)
    match drafter:
        case "none" | "lookup" | "mtp":
            return Pair(model, target, drafter, None, recipe)
        case "auto":
            kind, place = _preferred(recipe)
            return Pair(model, target, kind, place, recipe)
        case _:
            return Pair(model, target, "auto", _place(parse_ref(drafter), offline)[0], recipe)


def sources(pair: Pair) -> list[FileSource]:
    """The files of a pair that are to be had from elsewhere."""
    places = (pair.target, pair.drafter, pair.beside)
    return [place for place in places if isinstance(place, FileSource)]


def obtain(pair: Pair, *, offline: bool = False) -> Iterator[PullEvent]:
    """Fetch what is not here yet; yields nothing if all is.

    Raises:
        LocalspecError: as `store.pull.fetch` does.
    """
    missing = [source for source in sources(pair) if locate(source) is None]
    if missing:
        yield from fetch(missing, offline=offline, typed=_typed(pair, missing))


def located(pair: Pair) -> LocalPair:
    """The pair with the paths of its files.

    Raises:
        NotFoundError: a file is not here.
    """
    there = sources(pair)
    require_here(there, typed=_typed(pair, there), offline=False)
    target = _path(pair.target)
    drafter = None if pair.drafter is None else _path(pair.drafter)
    asked = drafter is not None or pair.kind != "auto"
    if not asked:
        drafter = _beside(target)
    return LocalPair(pair.name, target, pair.kind, drafter, pair.recipe, asked)


def _place(ref: ModelRef, offline: bool) -> tuple[Place, Recipe | None]:
    match ref:
        case LocalFile(path):
            return path, None
        case StoredFile(name):
            return find_stored(name), None
        case RecipeName(name):
            recipe = load_recipe(name)
            return _checked(recipe.target, recipe), recipe
        case HubFile() | HubRepo() as ref:
            return resolve(ref, offline=offline), None


def _preferred(recipe: Recipe | None) -> tuple[WishedKind, Place | None]:
    if recipe is None:
        return "auto", None
    for entry in recipe.drafters:
        match entry.kind:
            case "mtp-embedded":
                return "mtp", None
            case "lookup":
                break
            case kind if entry.file is not None:
                return kind, _checked(entry.file, recipe)
    return "lookup", None


def settled_kind(pair: LocalPair, target: Header, drafter: Header | None) -> DrafterKind:
    """Which drafter a pair has, by what its files hold.

    Raises:
        PairMismatchError: the drafter does not fit the target, is of another kind than its recipe says, or the
            head asked for is not there.
    """
    if drafter is not None:
        check_pair(target, drafter)
        kind = sidecar_kind(drafter) or "draft-model"
        if pair.kind not in ("auto", kind):
            where = f" in {pair.recipe.path}" if pair.recipe else ""
            raise PairMismatchError(
                f"{drafter.path.name} is asked for as a drafter of the kind {pair.kind}, and is one of"
                f" the kind {kind}.",
                f'Mend it{where}: kind = "{kind}"',
            )
        return kind
    if pair.kind == "mtp":
        require_head(target)
    if pair.kind == "auto":
        return "mtp" if can_draft_itself(target) else "lookup"
    return pair.kind


def _checked(place: Place, recipe: Recipe) -> Place:
    """A recipe's file; one of the user's own must be there."""
    if isinstance(place, FileSource):
        return place
    if not place.is_file():
        raise NotFoundError(
            f"The recipe {recipe.name} names the file {place}, which is not there.",
            f"Put it there, or mend the path in {recipe.path}",
        )
    return first_part(place)


def _typed(pair: Pair, missing: list[FileSource]) -> list[str]:
    """What to give to `localspec pull`: a recipe's name stands for both of its files."""
    if pair.recipe and set(missing) <= {pair.target, *(d.file for d in pair.recipe.drafters)}:
        return [pair.name]
    return []


def _beside(target: Path) -> Path | None:
    """A head in a file beside a target that has none of its own.

    Names are looked at first: a header takes a tenth of a second to read. A target that cannot be read is not
    refused here.
    """
    if not sidecar_files(target):
        return None
    with suppress(LocalspecError):
        header = read_header(target)
        return None if can_draft_itself(header) else fitting_sidecar(header)
    return None


def _path(place: Place) -> Path:
    path = place if isinstance(place, Path) else locate(place)
    assert path is not None, place  # located() has looked for it
    return path
