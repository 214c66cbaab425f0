"""A recipe: a named pair of target and drafters with its settings, from a TOML file.

It knows no cache and no network: `pair.py` turns a recipe into files. What a file may say is in
`recipe_file.py`.
"""

import difflib
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localspec import paths
from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.recipe_advice import toml_advice
from localspec.recipe_file import RecipeDrafterKind, RecipeFile, SourceTable, check_recipe
from localspec.recipe_file import SamplingDefaults as SamplingDefaults
from localspec.recipe_file import Verified as Verified
from localspec.sources import FileSource
from localspec.textfile import read_text

DEFAULT_RECIPE = "qwen2.5-coder-1.5b"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a recipe may be called; one that ends in .gguf would be taken for a file."""

Place = Path | FileSource
"""A file of the user's own (absolute, not checked to exist), or one that can be fetched."""

_MEND = f"Mend it, or take it away. A sound one to compare with: localspec recipes {DEFAULT_RECIPE}"


@dataclass(frozen=True, slots=True)
class DrafterEntry:
    """One way to draft for the target.

    Attributes:
        kind: which drafter.
        file: where its file is, for the kinds that have one.
        note: what to know about it.
    """

    kind: RecipeDrafterKind
    file: Place | None
    note: str | None


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
        target: where the target's file is.
        drafters: ways to draft, the preferred one first.
        sampling: sampling defaults.
    """

    def __init__(self, name: str, path: Path, content: RecipeFile) -> None:
        self.name = name
        self.path = path
        self.summary = content.summary
        self.licence = content.licence
        self.licence_url = content.licence_url
        self.minimum_memory_gb = content.minimum_memory_gb
        self.n_ctx = content.n_ctx
        self.template = _template(content.template, path)
        self.note = content.note
        self.verified = content.verified
        self.target = _place(content.target, path)
        self.drafters = tuple(
            DrafterEntry(d.kind, _place(d.source, path) if d.source else None, d.note)
            for d in content.drafters
        )
        self.sampling = content.sampling

    def missing_files(self) -> list[Path]:
        """Files of the user's own that it names and that are not there."""
        places = (self.target, *(entry.file for entry in self.drafters))
        return [p for p in places if isinstance(p, Path) and not p.is_file()]


def load_recipe(name: str) -> Recipe:
    """The recipe of that name; the user's own ones win over those shipped.

    Raises:
        NotFoundError: there is none.
        UnsupportedFileError: its file does not follow the schema, or cannot be read.
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


def list_recipes(on_fault: Callable[[str, LocalspecError], None] | None = None) -> list[Recipe]:
    """All recipes, sorted by name.

    Args:
        on_fault: told the name of each recipe that is wrong, and what is; it is then left out.

    Raises:
        UnsupportedFileError: a recipe is wrong, and there is no `on_fault`.
    """
    found = []
    for name in recipe_names():
        try:
            found.append(load_recipe(name))
        except LocalspecError as error:
            if on_fault is None:
                raise
            on_fault(name, error)
    return found


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
        UnsupportedFileError: it cannot be read, is no TOML, does not follow the schema, or has a
            name that nobody could type as a model.
    """
    if not NAME.fullmatch(path.stem) or path.stem.lower().endswith(".gguf"):
        raise UnsupportedFileError(
            f"The recipe {path} has a name that cannot be typed as a model.",
            "Give it one of letters, digits, dots, - and _, for example "
            f"{re.sub('[^A-Za-z0-9]+', '-', path.stem).strip('-') or 'mine'}.toml",
        )
    try:
        content = check_recipe(tomllib.loads(read_text(path)))
    except OSError as error:
        raise UnsupportedFileError(
            f"The recipe {path} cannot be read: {error.strerror or error}.",
            "Check whose file it is, or take it away.",
        ) from error
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(f"The recipe {path} is not UTF-8 text.", _MEND) from error
    except ValueError as error:
        raise UnsupportedFileError(
            f"The recipe {path} is not valid TOML: {error}.", _MEND
        ) from error
    except RecursionError as error:
        raise UnsupportedFileError(f"The recipe {path} is nested too deeply.", _MEND) from error
    if isinstance(content, RecipeFile):
        return Recipe(path.stem, path, content)
    faults = "; ".join(str(fault) for fault in content)
    raise UnsupportedFileError(
        f"The recipe {path} is wrong: {faults}.",
        f"As it could be (a whole one: localspec recipes {DEFAULT_RECIPE}):\n"
        f"{toml_advice(content)}",
    )


def _place(source: SourceTable, recipe: Path) -> Place:
    """Where a file is; a path is relative to the folder of the recipe."""
    if source.path is None:
        return FileSource(**source.model_dump(exclude={"path"}))
    return _beside(source.path, recipe)


def _template(text: str | None, recipe: Path) -> str | None:
    """A template's name as it is, its file as seen from the folder of the recipe."""
    path = _beside(text, recipe) if text else None
    return str(path) if path is not None and path.is_file() else text


def _beside(text: str, recipe: Path) -> Path:
    return recipe.parent.absolute() / paths.expanded(text)
