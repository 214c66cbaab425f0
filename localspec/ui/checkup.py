"""Draws what `doctor` found. Plain values in, terminal out."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.ui.features import in_words
from localspec.ui.sanitize import safe_for_terminal

_GB = 1e9


def draw_checkup(found: Mapping[str, Any], console: Console) -> None:
    """A table of facts, then one line a finding with what to do about it, then the verdict."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _facts(found):
        table.add_row(name, Text(value))
    console.print(table)
    console.print()
    for finding in found["findings"]:
        mark = Text("ok  ", "green") if finding["ok"] else Text("fix ", "red")
        # not wrapped by us, so that what is to be typed can be copied
        console.print(mark + Text(safe_for_terminal(finding["message"])), soft_wrap=True)
        for line in safe_for_terminal(finding["hint"] or "").splitlines():
            console.print(Text(f"    {line}", "cyan"), soft_wrap=True)
    console.print()
    if all(finding["ok"] for finding in found["findings"]):
        console.print(Text('Ready. Next: localspec run "your question"', "bold"))
    else:
        console.print(Text("Not everything is well yet; see the lines marked fix.", "bold"))


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    machine, llama, places = found["machine"], found["llama"], found["places"]
    rows = [
        ("localspec", f"{found['localspec']}, Python {found['python']}"),
        (
            "packages",
            ", ".join(f"{name} {v or 'missing'}" for name, v in found["packages"].items()),
        ),
        ("system", machine["system"]),
        (
            "processor",
            f"{machine['processor']}, {machine['cores_physical']} cores,"
            f" {machine['cores_logical']} threads",
        ),
        (
            "memory",
            f"{machine['memory_bytes'] / _GB:.1f} GB,"
            f" {machine['memory_available_bytes'] / _GB:.1f} GB available",
        ),
    ]
    if llama:
        rows += [
            ("llama.cpp", in_words(llama["features"])),
            (
                "defaults",
                f"{llama['default_threads']} threads, {llama['default_numerics']} numerics",
            ),
        ]
        rows += [
            ("device", f"{d['name']}: {d['description']} ({d['kind']})") for d in llama["devices"]
        ]
    rows += [
        ("models", places["hugging_face"]),
        ("", places["cache"]),
        ("config", places["config"]),
    ]
    return rows
