"""A benchmark as one page of HTML that needs nothing else: no script, no font, no network.

Everything that can be shown in a figure is a table too. What was not measured is left out, or said to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from statistics import median
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from localspec.bench.arm_names import PEER, PLAIN
from localspec.bench.plots import Bar, bars, columns, course
from localspec.bench.summary import summarise
from localspec.results import ArmSummary, BenchReport, Run
from localspec.ui.sanitize import safe_for_terminal

_TEMPLATE = "page.html.jinja"
_GB = 1e9
_LEAST_COURSE = 3
"""Fewer values are no course."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot and what stands above it."""

    heading: str
    image: Markup


def to_html(report: BenchReport) -> str:
    """What was measured on what: plots, tables, and a row for each prompt."""
    source = resources.files("localspec.bench").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    page = Environment(
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    settings = {k: v for k, v in report.settings.items() if k not in ("peer", "command")}
    facts = [
        ("Machine", _facts({**report.machine, "peak_memory_bytes": report.peak_memory_bytes})),
        ("Model", _facts(report.model)),
        ("Drafter", _facts(report.drafter or {})),
        ("Settings", _facts(settings)),
        ("Peer", _facts(report.settings.get("peer") or {})),
    ]
    # they ran in random order; the reader wants that of the other tables
    ran = dict.fromkeys(run.arm for run in report.runs)
    arms = [*(arm for arm in report.summary if arm in ran), *(ran.keys() - report.summary.keys())]
    return page.from_string(source).render(
        report=report,
        model=report.model.get("name") or "a model",
        facts=[(title, rows) for title, rows in facts if rows],
        missing=[arm for arm in report.settings.get("arms", []) if arm not in report.summary],
        overall=_overall(report.summary),
        classes=_classes(report),
        positions=_positions(report.summary),
        plain=_plain_course(report.runs),
        arms=arms,
        prompts=_prompts(report.runs, arms),
        peer=PEER,
    )


def _overall(summary: dict[str, ArmSummary]) -> list[Plot]:
    if not summary:
        return []
    rates = [
        Bar(a, s.tokens_per_s, f"{s.tokens_per_s:.1f}", theirs=a == PEER)
        for a, s in summary.items()
    ]
    speed = Plot("Tokens per second", bars("rates", "Tokens per second, median, by arm", rates))
    times = _times_plain("times", "Speed-up over plain decoding by arm", summary)
    return [*([Plot("× plain, all prompts", times)] if times else []), speed]


def _classes(report: BenchReport) -> list[Plot]:
    """× plain by class of prompts, where there is more than one."""
    names = list(dict.fromkeys(run.prompt_class for run in report.runs))
    seed = report.settings.get("seed", 0)
    plots = []
    for i, name in enumerate(names if len(names) > 1 else []):
        runs = [run for run in report.runs if run.prompt_class == name]
        title = f"Speed-up over plain decoding by arm, prompts of the class {name}"
        image = _times_plain(f"class-{i}", title, summarise(runs, list(report.summary), {}, seed))
        plots += [Plot(name, image)] if image else []
    return plots


def _times_plain(name: str, title: str, summary: dict[str, ArmSummary]) -> Markup | None:
    rows = []
    for arm, s in summary.items():
        low, high = s.speedup_ci95
        # of a single prompt there is nothing to draw from
        interval = (low, high) if low < high else None
        spread = f" ({low:.2f}–{high:.2f})" if interval else ""
        figure = f"{s.speedup_geomean:.2f} ×{spread}"
        if arm != PLAIN:
            rows.append(Bar(arm, s.speedup_geomean, figure, interval, theirs=arm == PEER))
    return bars(name, title, rows, mark=1.0) if rows else None


def _positions(summary: dict[str, ArmSummary]) -> list[tuple[Plot, list[tuple[int, int]]]]:
    """Acceptance by position in the draft, of the arms that drafted, and its counts."""
    found = []
    for i, (arm, s) in enumerate(summary.items()):
        counts = [(tested, kept) for tested, kept in s.by_position if tested]
        if counts:
            rows = [(str(n), kept / tested) for n, (tested, kept) in enumerate(counts, 1)]
            image = columns(f"position-{i}", f"Acceptance by position in the draft, {arm}", rows)
            found.append((Plot(arm, image), counts))
    return found


def _plain_course(runs: Sequence[Run]) -> Markup | None:
    rates = [run.tokens_per_s for run in runs if run.arm == PLAIN and run.tokens_per_s]
    if len(rates) < _LEAST_COURSE:
        return None
    title = "Tokens per second of plain decoding in the order of the prompts"
    return course("course", title, rates, "tokens/s")


def _prompts(runs: Sequence[Run], arms: list[str]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """For each prompt its class, and for each arm the rate and whether the answer is plain's."""
    by_prompt: dict[str, list[Run]] = {}
    for run in runs:
        by_prompt.setdefault(run.prompt_id, []).append(run)
    return [
        (name, own[0].prompt_class, [_cell([r for r in own if r.arm == arm]) for arm in arms])
        for name, own in by_prompt.items()
    ]


def _cell(runs: list[Run]) -> tuple[str, str]:
    """Median rate of an arm's answers to a prompt, and how they compare with plain's."""
    rates = [run.tokens_per_s for run in runs if run.tokens_per_s]
    rate = f"{median(rates):.1f}" if rates else ""
    if not runs:
        return "", "not answered"
    if runs[0].arm == PLAIN:
        return rate, ""
    if runs[0].arm == PEER:
        said = [run.same_text for run in runs if run.same_text is not None]
        return rate, _verdict(sum(said), len(said), "same text", "another text")
    said = [run.identical_to_plain for run in runs if run.identical_to_plain is not None]
    places = [run.first_divergence for run in runs if run.first_divergence is not None]
    differs = f"differs from token {min(places)}" if places else "differs"
    return rate, _verdict(sum(said), len(said), "identical", differs)


def _verdict(n_same: int, n_said: int, same: str, other: str) -> str:
    if not n_said:
        return "not compared"
    if n_same == n_said:
        return same
    return other if n_said == 1 else f"{n_same} of {n_said} {same}; {other}"


def _facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known, in words."""
    told = []
    for name, value in facts.items():
        if value is None or value == [] or value == "":
            continue
        if name.endswith("_bytes") and isinstance(value, int | float):
            name, value = name.removesuffix("_bytes"), f"{value / _GB:.2f} GB"
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {x}" for key, x in value.items())
        told.append((name.replace("_", " "), str(value)))
    return told


def _shown(value: object) -> object:
    """Text without what would steer the page's reader; the page's own markup as it is."""
    return safe_for_terminal(value) if type(value) is str else value
