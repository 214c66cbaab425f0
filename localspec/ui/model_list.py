"""Draws the list of models that are on this machine; plain values in, lines out."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal


@dataclass(frozen=True, slots=True)
class UseRow:
    """A recipe that uses a model, and as what: "target" or "drafter"."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model: its name, its bytes, where it lies, where it came from, and who uses it."""

    name: str
    size_bytes: int
    path: str
    source: str
    recipes: tuple[UseRow, ...] = ()


def draw_models(rows: Sequence[ModelRow], console: Console) -> None:
    """Print `rows`, a paragraph each. Lines are left to the terminal to wrap, so that a name or a
    path can be copied from it whole."""
    for row in rows:
        facts = [_size(row.size_bytes), f"from {row.source}", *(_use(use) for use in row.recipes)]
        _line(console, row.name, "cyan")
        _line(console, "  " + ", ".join(facts))
        if row.path != row.name:
            _line(console, "  " + row.path, "dim")
    console.print()
    _line(console, "Each name can be typed as a model: localspec run -m NAME", "dim")


def _line(console: Console, text: str, style: str = "") -> None:
    # Text, not str: a file's name must not be taken for markup
    console.print(Text(safe_for_terminal(text), style), soft_wrap=True)


def _use(use: UseRow) -> str:
    return f"recipe {use.name}" if use.role == "target" else f"drafter of recipe {use.name}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"
