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

_COLUMNS = ("× plain", "worst", "best", "of the oracle")
_FEW_COLUMNS = ("× plain", "worst")
_ROOMY = 60
"""Columns of a terminal that all of them need."""
_LEGEND = (
    "auto begins each prompt with nothing learned, auto-run goes on from prompt to prompt, auto-tuned has"
    " seen the others; the oracle knows which proposals are right, foresight only how sure the drafter"
    " will be of them. Rates hold for answers as long as the recorded ones."
)


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
    names = _COLUMNS if console.width >= _ROOMY else _FEW_COLUMNS
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)

    def add(name: str, rates: Mapping[str, Any], style: str) -> None:
        cells = _cells(rates, oracle)
        table.add_row(safe_for_terminal(name), *(cells[column] for column in names), style=style)

    oracle = found["oracle"]["rate_vs_plain"]
    leaders = _leaders(found["policies"])
    for name, rates in found["policies"].items():
        style = "green" if name in leaders else ""
        add(name, rates, style)
    add("foresight", found["foresight"], "dim")
    add("oracle", found["oracle"], "dim")
    if found["oracle_lookup"] != found["oracle"]:
        add("oracle with look-up", found["oracle_lookup"], "dim")
    console.print(table)
    console.print(Text(_LEGEND, "dim"))
    console.print()
    for line in _notes(found):
        console.print(Text(safe_for_terminal(line), "dim"))


def _cells(rates: Mapping[str, Any], oracle: float) -> dict[str, str]:
    """What is said of a policy, by the name of the column."""
    by_prompt, rate = rates["by_prompt"].values(), rates["rate_vs_plain"]
    return {
        "× plain": f"{rate:.2f}",
        "worst": f"{min(by_prompt):.2f}",
        "best": f"{max(by_prompt):.2f}",
        "of the oracle": f"{100 * rate / oracle:.0f} %",
    }


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
