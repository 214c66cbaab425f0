"""A benchmark against an earlier one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from localspec.errors import UsageError
from localspec.faults import faults_of
from localspec.results import FEW_PROMPTS, VERSION, ArmSummary, BenchReport
from localspec.textfile import read_text

_SHAPE = TypeAdapter(BenchReport)
_NAMES = {"model": "file", "drafter": "file", "machine": "processor"}
_SETTINGS = (
    *("suite", "prompts", "tokens", "temperature", "seed"),
    *("numerics", "ctx", "max_depth", "trace_full"),
)
_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class Change:
    """One arm then and now.

    Attributes:
        arm: its name.
        old: its figures then.
        new: its figures now.
        n_prompts: behind the figures, in the report that has fewer.
    """

    arm: str
    old: ArmSummary
    new: ArmSummary
    n_prompts: int

    @property
    def apart(self) -> bool:
        """True if the bootstrap intervals of × plain do not meet."""
        (a, b), (c, d) = self.old.speedup_ci95, self.new.speedup_ci95
        return b < c or d < a

    def __str__(self) -> str:
        verdict = "beyond chance" if self.apart else "within chance"
        if self.n_prompts < FEW_PROMPTS:
            verdict = "too few prompts to tell from chance"
        return (
            f"{self.arm}: {self.old.speedup_geomean:.2f} -> {self.new.speedup_geomean:.2f} × plain"
            f" ({verdict}), {self.old.tokens_per_s:.1f} -> {self.new.tokens_per_s:.1f} tokens/s"
        )


def compare(old: BenchReport, new: BenchReport) -> list[Change]:
    """The arms that both have, in the order of the new one."""
    return [
        Change(arm, old.summary[arm], summary, min(old.n_prompts(arm), new.n_prompts(arm)))
        for arm, summary in new.summary.items()
        if arm in old.summary
    ]


def differences(old: BenchReport, new: BenchReport) -> list[str]:
    """What was measured otherwise, so that a change of figures may come from it, a phrase each."""
    then, now = _facts(old), _facts(new)
    return [f"{name} {then[name]} -> {now[name]}" for name in then if then[name] != now[name]]


def _facts(report: BenchReport) -> dict[str, Any]:
    """What the figures depend on, by name."""
    parts = {part: getattr(report, part) or {} for part in _NAMES}
    facts = {part: parts[part].get(name) for part, name in _NAMES.items()}
    return {**facts, **{name: report.settings.get(name) for name in _SETTINGS}}


def load_report(path: Path) -> BenchReport:
    """Read what `bench --json` wrote.

    Raises:
        UsageError: there is no such file, or it is not one of ours.
    """
    try:
        values = json.loads(read_text(path), parse_constant=_figure, parse_float=_figure)
    except OSError as error:
        raise _not_ours(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, "it is not JSON, or holds what is no figure") from error
    if not isinstance(values, dict) or "version" not in values:
        raise _not_ours(path, "it holds something else")
    if values["version"] != VERSION:
        raise _not_ours(path, f"its version is {values['version']}, not {VERSION}")
    try:
        return _SHAPE.validate_python(_named(values))
    except ValidationError as error:
        raise _not_ours(path, str(faults_of(error, "a benchmark")[0])) from error
    except KeyError as error:
        raise _not_ours(path, f"{error} is missing") from error
    except (TypeError, AttributeError) as error:
        raise _not_ours(path, "a part of it is of another kind") from error


def _figure(text: str) -> float:
    """A number with a point, as a benchmark can have one.

    Raises:
        ValueError: it is none: NaN, an infinity, or too large.
    """
    value = float(text)
    if not abs(value) < _LARGEST:
        raise ValueError(text)
    return value


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """The values by the names of our fields, where JSON has others."""
    runs = [{**run, "prompt_class": run["class"]} for run in values["runs"]]
    summary = {
        arm: {**kept, "by_class": {c: x["speedup_geomean"] for c, x in kept["by_class"].items()}}
        for arm, kept in values["summary"].items()
    }
    return {**values, "runs": runs, "summary": summary}


def _not_ours(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} is no benchmark to compare with: {reason}.",
        "Make one with: localspec bench --json FILE",
    )
