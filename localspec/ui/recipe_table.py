"""Draws recipes: all in a table, or one in full. Plain values in, terminal out.

A recipe may come from anybody, so its text is made safe before it reaches the screen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal


def draw_recipes(records: Sequence[Mapping[str, Any]], console: Console) -> None:
    """One line a recipe, those that were really run first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("recipe", no_wrap=True, overflow="fold")
    table.add_column("drafter", no_wrap=True)
    table.add_column("memory", justify="right", no_wrap=True)
    table.add_column("run by us", no_wrap=True)
    table.add_column("what", overflow="fold")
    for record in sorted(records, key=lambda r: (r["verified"] is None, r["name"])):
        table.add_row(
            Text(safe_for_terminal(record["name"]), "cyan"),
            record["drafters"][0]["kind"],
            f"{record['minimum_memory_gb']:g} GB",
            "yes" if record["verified"] else "not yet",
            Text(safe_for_terminal(record["summary"])),
        )
    console.print(table)
    console.print(
        Text("\nIn full: localspec recipes NAME    Run one: localspec run -m NAME", "dim")
    )


def draw_recipe(record: Mapping[str, Any], console: Console) -> None:
    """Everything a recipe says."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(record):
        table.add_row(name, Text(safe_for_terminal(value)))
    console.print(table)


def _rows(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("recipe", record["name"]),
        ("what", record["summary"]),
        ("target", _place(record["target"])),
    ]
    for entry in record["drafters"]:
        place = f": {_place(entry['source'])}" if entry["source"] else ""
        note = f" ({entry['note']})" if entry["note"] else ""
        rows.append(("drafter", f"{entry['kind']}{place}{note}"))
    settings = ", ".join(f"{key} {value:g}" for key, value in record["sampling"].items())
    licence = record["licence"] + (f" ({record['licence_url']})" if record["licence_url"] else "")
    rows += [
        ("sampling", settings or "localspec's own"),
        ("memory", f"{record['minimum_memory_gb']:g} GB at least"),
        ("licence", licence),
    ]
    if record["note"]:
        rows.append(("note", record["note"]))
    verified = record["verified"]
    if verified is None:
        rows.append(("run by us", "not yet"))
    else:
        rows.append(("run by us", f"{verified['what']}: {verified['result']}"))
        rows.append(("", f"{verified['date']}, {verified['machine']}, {verified['versions']}"))
    return [*rows, ("file", record["path"])]


def _place(source: Mapping[str, Any]) -> str:
    places = []
    if source["repo"]:
        places.append(f"{source['repo']}/{source['file']}")
    if source["packages"]:
        first, last = source["packages"][0], source["packages"][-1]
        places.append(
            f"package {first}" if first == last else f"packages {first} to {last.split('==')[0]}"
        )
    return ", or ".join(places)
