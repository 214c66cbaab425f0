"""`localspec recipes`: the known pairs, and one of them in full."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from localspec.recipe import Recipe
    from localspec.sources import FileSource


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the recipes: pairs of target and drafter with their settings. Or show one in full."""
    from json import dumps

    from rich.console import Console

    from localspec.recipe import list_recipes, load_recipe
    from localspec.ui.recipe_table import draw_recipe, draw_recipes

    if name is not None:
        record = _record(load_recipe(name))
        if json:
            typer.echo(dumps({"version": 1, **record}, indent=2, ensure_ascii=False))
        else:
            draw_recipe(record, Console())
        return
    records = [_record(recipe) for recipe in list_recipes()]
    if json:
        typer.echo(dumps({"version": 1, "recipes": records}, indent=2, ensure_ascii=False))
    else:
        draw_recipes(records, Console())


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


def _source(source: "FileSource") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(source)
