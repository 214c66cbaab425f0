"""`localspec recipes`: the known pairs, and one of them in full."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from localspec.errors import LocalspecError
    from localspec.recipe import Place, Recipe


def recipes(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this one in full.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the recipes: pairs of target and drafter with their settings. Or show one in full."""
    from rich.console import Console

    from localspec.recipe import load_recipe
    from localspec.ui.output import print_json
    from localspec.ui.recipe_table import draw_recipe

    if name is None:
        _list(json)
        return
    record = _record(load_recipe(name))
    if json:
        print_json({"version": 1, **record}, indent=2)
    else:
        draw_recipe(record, Console())


def _list(json: bool) -> None:
    """All that are sound; the others are named on standard error, and are no failure."""
    from rich.console import Console

    from localspec.events import Notice
    from localspec.recipe import list_recipes
    from localspec.ui.output import print_json, show_notice
    from localspec.ui.recipe_table import draw_recipes

    wrong: list[tuple[str, LocalspecError]] = []
    records = [_record(recipe) for recipe in list_recipes(lambda n, e: wrong.append((n, e)))]
    if json:
        faults = [{"name": name, "message": error.message} for name, error in wrong]
        print_json({"version": 1, "recipes": records, "wrong": faults}, indent=2)
    else:
        draw_recipes(records, Console())
    for name, error in wrong:
        quoted = name if name.isprintable() and " " not in name else repr(name)
        show_notice(Notice(error.message, f"How to mend it: localspec recipes {quoted}"))


def _record(recipe: "Recipe") -> dict[str, Any]:
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "licence": recipe.licence,
        "licence_url": recipe.licence_url,
        "minimum_memory_gb": recipe.minimum_memory_gb,
        "n_ctx": recipe.n_ctx,
        "template": recipe.template,
        "note": recipe.note,
        "verified": recipe.verified.model_dump() if recipe.verified else None,
        "target": _source(recipe.target),
        "drafters": [
            {
                "kind": entry.kind,
                "source": _source(entry.file) if entry.file else None,
                "note": entry.note,
            }
            for entry in recipe.drafters
        ],
        "sampling": recipe.sampling.model_dump(exclude_none=True),
        "path": str(recipe.path),
    }


def _source(place: "Place") -> dict[str, Any]:
    """The fields of a `FileSource`, and `path` for a file of the user's own."""
    from dataclasses import asdict

    from localspec.sources import FileSource

    if isinstance(place, FileSource):
        return {**asdict(place), "path": None, "there": None}
    return {**asdict(FileSource()), "path": str(place), "there": place.is_file()}
