"""Draws the list of models that are on this machine; plain values in, a table out."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model: its name, its bytes, where it lies and where it came from."""

    name: str
    size_bytes: int
    path: str
    source: str


def draw_models(rows: Sequence[ModelRow], console: Console) -> None:
    """Print `rows` as a table; names and paths are never cut."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for row in rows:
        # Text, not str: a file's name must not be taken for markup
        name = Text(safe_for_terminal(row.name)).append(f"\n{safe_for_terminal(row.path)}", "dim")
        table.add_row(name, Text(_size(row.size_bytes)), Text(row.source))
    console.print(table)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"
