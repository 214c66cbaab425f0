"""A benchmark as Markdown, to be pasted, and as CSV, to be calculated with."""

import csv
import io
from dataclasses import fields

from localspec.results import ArmSummary, BenchReport, Run


def to_csv(report: BenchReport) -> str:
    """One row a run, the columns named as in JSON (RFC 4180, with plain new lines)."""
    text = io.StringIO()
    names = ["class" if f.name == "prompt_class" else f.name for f in fields(Run)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(run.to_json() for run in report.runs)
    return text.getvalue()


def to_markdown(report: BenchReport) -> str:
    """What was measured on what, a table of the arms, and one of the classes of prompts."""
    classes = sorted({name for summary in report.summary.values() for name in summary.by_class})
    parts = [
        _facts("Machine", report.machine),
        _facts("Model", report.model),
        _facts("Drafter", report.drafter or {"name": "none"}),
        _facts("Settings", {k: v for k, v in report.settings.items() if k != "peer"}),
        *([f"**Peer** {_cell(report.peer_note)}"] if report.peer_note else []),
        _table(
            [
                "arm",
                "tokens/s",
                "× plain",
                "95 %",
                "median",
                "worst",
                "first token, s",
                "accepted",
                "tokens/round",
                "identical",
            ],
            [_arm(name, summary) for name, summary in report.summary.items()],
        ),
        _table(
            ["× plain", *classes],
            [
                [name, *(_number(summary.by_class.get(c)) for c in classes)]
                for name, summary in report.summary.items()
            ],
        ),
    ]
    if report.drift is not None:
        parts.append(f"Plain decoding at the end / at the start: {report.drift:.2f}")
    return "\n\n".join(parts) + "\n"


def _arm(name: str, summary: ArmSummary) -> list[str]:
    low, high = summary.speedup_ci95
    return [
        name,
        f"{summary.tokens_per_s:.1f}",
        f"{summary.speedup_geomean:.2f}",
        f"{low:.2f}–{high:.2f}",
        f"{summary.speedup_median:.2f}",
        f"{summary.speedup_min:.2f}",
        f"{summary.ttft_s:.2f}",
        "" if summary.acceptance_rate is None else f"{summary.acceptance_rate:.0%}",
        _number(summary.tokens_per_round),
        f"{summary.identical} of {summary.compared}" if summary.compared else "",
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _facts(title: str, facts: dict[str, object]) -> str:
    told = ", ".join(f"{_cell(name)}: {_cell(value)}" for name, value in facts.items())
    return f"**{title}** {told}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    """Text that stays within its cell and is shown as it is."""
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(words.split()))
    for character in "\\|<>*_`[]":
        text = text.replace(character, f"\\{character}" if character != "<" else "&lt;")
    return text
