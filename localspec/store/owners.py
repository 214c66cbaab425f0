"""Which recipes a file on this machine belongs to. `models` shows it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localspec.recipe import Place, Recipe, list_recipes
from localspec.store.pull import locate


@dataclass(frozen=True, slots=True)
class RecipeUse:
    """A recipe that uses a file, and as what."""

    name: str
    role: Literal["target", "drafter"]


def recipe_uses() -> dict[Path, list[RecipeUse]]:
    """For each file that is here, links followed, the recipes that use it, by name.

    Recipes that are wrong are passed over.
    """
    uses: dict[Path, list[RecipeUse]] = {}
    for recipe in list_recipes(lambda name, error: None):
        for use, place in _places(recipe):
            path = place if isinstance(place, Path) else locate(place)
            if path is not None and use not in uses.setdefault(path.resolve(), []):
                uses[path.resolve()].append(use)
    return uses


def _places(recipe: Recipe) -> list[tuple[RecipeUse, Place]]:
    drafters = [entry.file for entry in recipe.drafters if entry.file is not None]
    return [
        (RecipeUse(recipe.name, "target"), recipe.target),
        *((RecipeUse(recipe.name, "drafter"), file) for file in drafters),
    ]
