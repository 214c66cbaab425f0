"""Draws recipes: all in a list, or one in full. Plain values in, terminal out.

A recipe may come from anybody, so its text is made safe before it reaches the screen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal

_HEAD = ("recipe", "drafter", "memory", "run by us")
_GAP = 2
_SUMMARY = 44
"""Columns that a summary needs to stand beside the rest and not below it."""


def draw_recipes(records: Sequence[Mapping[str, Any]], console: Console) -> None:
    """All recipes, those that were really run first.

    On a wide terminal a line each; on a narrower one the summary stands below, and then the facts
    too, so that nothing is ever cut.
    """
    records = sorted(records, key=lambda r: (r["verified"] is None, r["name"]))
    rows = [_cells(record) for record in records]
    widths = [max(len(row[i]) for row in (_HEAD, *rows)) for i in range(len(_HEAD))]
    width = sum(widths) + _GAP * (len(widths) - 1)
    if width + _GAP + _SUMMARY <= console.width:
        _draw_table(records, rows, console)
    else:
        if width <= console.width:
            console.print(Text(_aligned(_HEAD, widths), "bold"))
        for record, row in zip(records, rows, strict=True):
            _draw_entry(record, row, widths if width <= console.width else None, console)
    console.print()
    console.print(Text("In full: localspec recipes NAME    Run one: localspec run -m NAME", "dim"))


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        safe_for_terminal(record["name"]),
        record["drafters"][0]["kind"],
        f"{record['minimum_memory_gb']:g} GB",
        "yes" if record["verified"] else "not yet",
    )


def _draw_table(
    records: Sequence[Mapping[str, Any]], rows: Sequence[tuple[str, ...]], console: Console
) -> None:
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="bold")
    for name in _HEAD:
        table.add_column(name, no_wrap=True)
    table.add_column("what", overflow="fold")
    for record, (name, *facts) in zip(records, rows, strict=True):
        table.add_row(Text(name, "cyan"), *facts, Text(safe_for_terminal(record["summary"])))
    console.print(table)


def _draw_entry(
    record: Mapping[str, Any], row: tuple[str, ...], widths: list[int] | None, console: Console
) -> None:
    """A recipe in several lines; its facts beside its name if `widths` are given."""
    name, drafter, memory, _ = row
    if widths is None:
        # not wrapped by us: a name that a narrow terminal breaks can still be copied whole
        console.print(Text(name, "cyan"), soft_wrap=True)
        ran = "run by us" if record["verified"] else "not run by us yet"
        _indented(f"{drafter}, {memory}, {ran}", "", console)
    else:
        line = Text(_aligned(row, widths))
        line.stylize("cyan", 0, len(name))
        console.print(line)
    _indented(safe_for_terminal(record["summary"]), "dim", console)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    line = (" " * _GAP).join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return line.rstrip()


def _indented(text: str, style: str, console: Console) -> None:
    console.print(Padding(Text(text, style), (0, 0, 0, 2)))


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
    if source["path"]:
        places.append(f"{source['path']}{'' if source['there'] else ' (not there)'}")
    if source["repo"]:
        places.append(f"{source['repo']}/{source['file']}")
    if source["packages"]:
        first, last = source["packages"][0], source["packages"][-1]
        places.append(
            f"package {first}" if first == last else f"packages {first} to {last.split('==')[0]}"
        )
    return ", or ".join(places)
