"""Draws a replay: what each policy would bring on a machine. Plain values in, terminal out.

Traces and machine files may come from anybody, so their text is made safe before it is shown.
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal

_ENOUGH = 0.9
"""Less known than this part of the proposals is worth a word."""


def draw_replay(found: Mapping[str, Any], console: Console) -> None:
    """The machine, a table of policies with the best of each kind marked, and what to know of it.

    Args:
        found: what `Replay.to_json` gives.
        console: where to.
    """
    machine = found["machine"]
    console.print(Text(safe_for_terminal(machine["name"]), "bold"), end="  ")
    console.print(Text(safe_for_terminal(machine["description"]), "dim"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("policy", no_wrap=True)
    for name in ("× plain", "worst", "best", "of the oracle"):
        table.add_column(name, justify="right", no_wrap=True)
    oracle = found["oracle"]["rate_vs_plain"]
    leaders = _leaders(found["policies"])
    for name, rates in found["policies"].items():
        style = "green" if name in leaders else ""
        table.add_row(*_row(name, rates, oracle), style=style)
    table.add_row(*_row("foresight", found["foresight"], oracle), style="dim")
    table.add_row(*_row("oracle", found["oracle"], oracle), style="dim")
    if found["oracle_lookup"] != found["oracle"]:
        table.add_row(*_row("oracle with look-up", found["oracle_lookup"], oracle), style="dim")
    console.print(table)
    console.print()
    for line in _notes(found):
        console.print(Text(safe_for_terminal(line), "dim"))


def _row(name: str, rates: Mapping[str, Any], oracle: float) -> tuple[str, ...]:
    by_prompt = rates["by_prompt"].values()
    rate = rates["rate_vs_plain"]
    share = f"{rate / oracle:.0%}"
    return name, f"{rate:.2f}", f"{min(by_prompt):.2f}", f"{max(by_prompt):.2f}", share


def _leaders(policies: Mapping[str, Any]) -> set[str]:
    """The best of each kind."""
    best: dict[str, str] = {}
    for name, rates in policies.items():
        kind = name.partition(":")[0]
        leader = best.setdefault(kind, name)
        if rates["rate_vs_plain"] > policies[leader]["rate_vs_plain"]:
            best[kind] = name
    return set(best.values())


def _notes(found: Mapping[str, Any]) -> list[str]:
    notes = []
    together = found["together"]
    if together:
        equal = together["best_equal_depth"]
        first, second = together["prompts"]
        notes.append(
            f"Two in one batch ({first} and {second}): auto {together['auto']:.2f} × plain, the best"
            f" equal depth ({equal['depth']}) {equal['rate_vs_plain']:.2f} ×."
        )
    if found["coverage"] < _ENOUGH:
        notes.append(
            f"Only {found['coverage']:.0%} of the drafter's proposals are known; drafts end where they"
            " are not. Record with: localspec bench --trace FILE --trace-full"
        )
    notes.append(f"Costs: {found['machine']['source']}")
    return notes
