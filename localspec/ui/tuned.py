"""Draws what tuning found: threads, passes, depths, other ways of running. Plain values in."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.tuned import FEW_TURNS, MOST_BY_OTHERS, Alternative, DepthCost, Tuned
from localspec.ui.sanitize import safe_for_terminal

_WORTH_SAYING = 0.03
"""A difference below this part is within what such short measurements tell."""


def draw_tuned(tuned: Tuned, console: Console) -> None:
    """Every table in turn, each with what follows from it."""
    name = safe_for_terminal(tuned.model)
    drafter = f", drafter {safe_for_terminal(tuned.drafter)}" if tuned.drafter else ""
    console.print(Text(f"{name}{drafter}", "bold"))
    console.print(Text(f"{tuned.numerics} numerics, {tuned.n_cells} tokens of context", "dim"))
    if len(tuned.decode_s) > 1:
        console.print()
        console.print(_threads_table(tuned))
    console.print(Text(_chosen(tuned)))
    console.print()
    console.print(_passes_table(tuned.passes_s))
    if tuned.level_s is not None:
        part = tuned.level_s / tuned.passes_s[1]
        console.print(Text(f"a draft token: {_ms(tuned.level_s)} ms, {part:.2f} of a plain pass"))
    if tuned.depths:
        console.print()
        console.print(_depths_table(tuned.depths))
        console.print(Text(_worth(tuned.depths)))
    for line in _said_of(tuned.alternatives):
        console.print(Text(line))
    console.print()
    if tuned.n_turns < FEW_TURNS:
        console.print(Text(_brief(tuned.n_turns), "yellow"))
    console.print(_end(tuned))


def _brief(n_turns: int) -> str:
    times = "once" if n_turns == 1 else f"{n_turns} times"
    return (
        f"Timed {times} only, so chance has a part in all of this."
        "\n  Surer: localspec tune --budget 60, or more for a large model"
    )


def _end(tuned: Tuned) -> Text:
    if tuned.stored:
        kept = Text("Kept: from now on every start of this pair uses this.", "bold")
        return kept.append("\n  To run without it: --no-profile, or --threads N", "not bold dim")
    if tuned.others >= MOST_BY_OTHERS:
        return Text(
            f"Not kept: other programs used {100 * tuned.others:.0f} % of the processor meanwhile."
            "\n  Run it again when the machine is quiet: localspec tune",
            "yellow",
        )
    return Text(
        "Not kept: nothing can be written where state belongs; see localspec doctor", "yellow"
    )


def _threads_table(tuned: Tuned) -> Table:
    """A line a number of threads."""
    table = _table("threads", "one token, ms")
    if tuned.verify_s:
        table.add_column(f"{tuned.verify_rows} tokens, ms", justify="right", no_wrap=True)
    for n, seconds in tuned.decode_s.items():
        cells = [_marked(seconds, n == tuned.chosen.decode)]
        if tuned.verify_s:
            cells.append(_marked(tuned.verify_s[n], n == tuned.chosen.verify))
        table.add_row(str(n), *cells)
    return table


def _chosen(tuned: Tuned) -> str:
    decode, verify = tuned.chosen.decode, tuned.chosen.verify
    threads = f"{decode}" if decode == verify else f"{decode} to decode, {verify} to verify"
    gains = [
        f"{100 * (gain - 1):.0f} % faster to {name}"
        for name, gain in tuned.gain.items()
        if gain > 1 + _WORTH_SAYING
    ]
    gain = ", ".join(gains) or "no faster than without tuning"
    if tuned.others >= MOST_BY_OTHERS:
        # what the noise made faster is no gain
        return f"Fewest threads that were no slower: {threads}"
    return f"Threads chosen: {threads} ({gain})"


def _passes_table(passes_s: Mapping[int, float]) -> Table:
    """A line a number of rows."""
    table = _table("rows", "pass, ms", "x one row")
    for rows, seconds in passes_s.items():
        table.add_row(str(rows), _ms(seconds), f"{seconds / passes_s[1]:.2f}")
    return table


def _depths_table(depths: list[DepthCost]) -> Table:
    """A line a depth."""
    table = _table("depth", "a round, in passes", "pays from acceptance")
    for depth in depths:
        pays = "never" if depth.break_even is None else f"{100 * depth.break_even:.0f} %"
        table.add_row(str(depth.depth), f"{depth.cost:.2f}", pays)
    return table


def _worth(depths: list[DepthCost]) -> str:
    possible = [(d.break_even, d.depth) for d in depths if d.break_even is not None]
    if not possible:
        return "Drafting with this drafter cannot pay here: a draft costs more than it can bring."
    least, depth = min(possible)
    return f"The easiest depth to pay is {depth}: its tokens must be accepted in {100 * least:.0f} % of cases."


def _said_of(alternatives: list[Alternative]) -> list[str]:
    """A sentence for each other way of running that makes a difference."""
    said = []
    for other in alternatives:
        ratios = ", ".join(f"{rows} rows {ratio:.2f} x" for rows, ratio in other.ratios.items())
        best = min(other.ratios.values())
        advice = ""
        if best < 1 - _WORTH_SAYING and other.flag:
            advice = f" (to have it: {other.flag})"
        said.append(f"{other.name}: time of a pass: {ratios}{advice}")
    return said


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _marked(seconds: float, chosen: bool) -> Text:
    return Text(_ms(seconds) + ("*" if chosen else " "), "green" if chosen else "")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"
