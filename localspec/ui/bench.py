"""Draws a benchmark: a line while it runs, then tables, bars and what the figures hold for."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.results import FEW_PROMPTS, ArmSummary, BenchReport
from localspec.ui.sanitize import safe_for_terminal
from localspec.ui.transient import TransientLine

_BAR_CELLS = 40
_GB = 1e9
_DRIFTED = 0.05
_LEGEND = (
    "× plain: geometric mean over prompts and its 95 % interval; round: tokens a verify pass;"
    " first: time to the first token; same: answers with the tokens of plain"
)
_ROOMY, _ROOM = 76, 50
_NARROW = ("median", "95 %", "first", "round")
_NARROWEST = (*_NARROW, "worst", "same")
"""Columns that are left out where there is no room for them."""


class BenchLine(TransientLine):
    """How far the benchmark is."""

    def show(self, done: int, total: int, prompt_id: str, arm: str, left_s: float | None) -> None:
        """Show how far it is; `left_s` is the time the rest will take, None if not known."""
        left = "" if left_s is None else f", about {_duration(left_s)} left"
        self.say(f"answer {min(done + 1, total)} of {total}: {arm} on {prompt_id}{left}")


def draw_bench(report: BenchReport, console: Console) -> None:
    """Everything a report says: arms, classes, bars, drift, machine."""
    if not report.summary:
        console.print(
            Text("Nothing was finished that could be compared with plain decoding.", "bold")
        )
        _draw_facts(report, console)
        return
    console.print(_arms_table(report, console.width))
    console.print(Text(_LEGEND, "dim"))
    if len(_classes(report.summary)) > 1:
        console.print()
        console.print(_class_table(report.summary))
    console.print()
    _draw_bars(report.summary, console)
    console.print()
    _draw_facts(report, console)


def _arms_table(report: BenchReport, width: int) -> Table:
    """A line an arm; it fits into 80 columns, and less of it into fewer."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    rows = {arm: _arm_cells(s, report.n_prompts(arm)) for arm, s in report.summary.items()}
    left_out = () if width >= _ROOMY else _NARROW if width >= _ROOM else _NARROWEST
    names = [name for name in next(iter(rows.values())) if name not in left_out]
    table.add_column("arm", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for arm, cells in rows.items():
        table.add_row(Text(safe_for_terminal(arm), "cyan"), *(cells[name] for name in names))
    return table


def _arm_cells(s: ArmSummary, n_prompts: int) -> dict[str, str | Text]:
    """What is said of an arm, by the name of the column."""
    low, high = s.speedup_ci95
    return {
        "tok/s": f"{s.tokens_per_s:.1f}",
        "× plain": Text(f"{s.speedup_geomean:.2f}", _colour(s.speedup_geomean)),
        "95 %": f"{low:.2f}–{high:.2f}" if n_prompts >= FEW_PROMPTS else "",
        "median": f"{s.speedup_median:.2f}",
        "worst": f"{s.speedup_min:.2f}",
        "accepted": "" if s.acceptance_rate is None else f"{100 * s.acceptance_rate:.0f} %",
        "round": "" if s.tokens_per_round is None else f"{s.tokens_per_round:.2f}",
        "first": f"{s.ttft_s:.2f} s",
        "same": f"{s.identical}/{s.compared}" if s.compared else "",
    }


def _class_table(summary: Mapping[str, ArmSummary]) -> Table:
    """× plain, a line a class and a column an arm."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("× plain", no_wrap=True)
    arms = [arm for arm in summary if arm != "plain"]
    for arm in arms:
        table.add_column(safe_for_terminal(arm), justify="right", no_wrap=True)
    for name in _classes(summary):
        cells = [_times(summary[arm].by_class.get(name)) for arm in arms]
        table.add_row(safe_for_terminal(name), *cells)
    return table


def _draw_bars(summary: Mapping[str, ArmSummary], console: Console) -> None:
    """× plain as bars, with a mark where plain is."""
    full = "#" if console.options.ascii_only else "█"
    most = max(s.speedup_geomean for s in summary.values())
    width = max(len(safe_for_terminal(arm)) for arm in summary)
    cells = max(10, min(_BAR_CELLS, console.width - width - 12))
    for arm, s in summary.items():
        n = max(1, round(cells * s.speedup_geomean / most))
        console.print(
            Text(f"{safe_for_terminal(arm):<{width}}  ")
            + Text(full * n, _colour(s.speedup_geomean))
            + Text(f" {s.speedup_geomean:.2f} ×")
        )


def _draw_facts(report: BenchReport, console: Console) -> None:
    for line in _facts(report):
        console.print(Text(safe_for_terminal(line), "dim"))
    if report.drift is not None and abs(report.drift - 1.0) > _DRIFTED:
        console.print(
            Text(
                f"Plain decoding ran at {report.drift:.2f} × its first rate at the end: the machine"
                " changed meanwhile. Arms were interleaved, so × plain still holds.",
                "yellow",
            )
        )


def _facts(report: BenchReport) -> list[str]:
    machine, settings = report.machine, report.settings
    model = f"model {report.model['name']} {report.model['quantization']}"
    if report.drafter is not None:
        model += (
            f", drafter {report.drafter['name']} {report.drafter.get('quantization', '')}".rstrip()
        )
    lines = [
        f"{machine['processor']}, {machine['threads']} threads, {machine['memory_bytes'] / _GB:.0f} GB,"
        f" {machine['system']}, llama-cpp-python {machine['llama_cpp_python']}",
        model,
        f"suite {settings.get('suite', '?')}, {_count(settings['prompts'], 'prompt')},"
        f" {settings['tokens']} tokens, temperature {settings['temperature']:g}, seed {settings['seed']},"
        f" {settings['numerics']} numerics",
        f"most memory {report.peak_memory_bytes / _GB:.2f} GB",
    ]
    if report.peer_note is not None:
        lines.insert(2, report.peer_note)
    if report.drift is not None:
        lines[-1] += f", drift of plain {report.drift:.2f} ×"
    if report.calibration_error is not None:
        lines[-1] += f", calibration error {report.calibration_error:.3f}"
    differing = [r for r in report.runs if r.identical_to_plain is False]
    lines += [
        f"{r.arm} on {r.prompt_id} differs from plain at token {r.first_divergence}"
        for r in differing[:10]
    ]
    if report.short:
        names = ", ".join(report.short)
        lines.append(f"too short to be timed, and in no figure: {names}")
    if report.summary and max(map(report.n_prompts, report.summary)) < FEW_PROMPTS:
        lines.append(f"fewer than {FEW_PROMPTS} prompts say little: no interval is shown")
    if not settings["complete"]:
        lines.append(f"not complete: {_count(len(report.runs), 'answer')} finished")
    return lines


def _classes(summary: Mapping[str, ArmSummary]) -> Sequence[str]:
    return list(dict.fromkeys(name for s in summary.values() for name in s.by_class))


def _times(value: float | None) -> Text:
    return Text("") if value is None else Text(f"{value:.2f}", _colour(value))


def _colour(times_plain: float) -> str:
    return "green" if times_plain > 1.02 else "red" if times_plain < 0.98 else ""


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def draw_changes(lines: Sequence[str], differences: Sequence[str], console: Console) -> None:
    """What has changed since an earlier report, a line each, and what was measured otherwise."""
    console.print()
    for line in lines or ["Nothing has changed that can be compared."]:
        console.print(Text(safe_for_terminal(line)))
    if differences:
        said = f"Measured otherwise then: {'; '.join(differences)}"
        console.print(Text(safe_for_terminal(said), "yellow"))
