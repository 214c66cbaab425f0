"""`localspec recipes`: the tested pairs, and one of them in full."""

from typing import Annotated

import typer


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the recipes, or show one."""
    from localspec.recipe import list_recipes, load_recipe

    found = [load_recipe(name)] if name else list_recipes()
    for recipe in found:
        typer.echo(f"{recipe.name}: {recipe.summary}")
