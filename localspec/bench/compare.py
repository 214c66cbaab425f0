"""A benchmark against an earlier one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from localspec.errors import UsageError
from localspec.faults import faults_of
from localspec.results import FEW_PROMPTS, VERSION, ArmSummary, BenchReport

_SHAPE = TypeAdapter(BenchReport)
_NAMES = {"model": "file", "drafter": "file", "machine": "processor"}
_COMPARED = (
    *_NAMES,
    *(
        "suite",
        "prompts",
        "tokens",
        "temperature",
        "seed",
        "numerics",
        "ctx",
        "max_depth",
        "trace_full",
    ),
)
"""Facts that the figures depend on."""


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
    facts = [(_facts(old, part), _facts(new, part)) for part in ("model", "drafter", "machine")]
    facts.append((old.settings, new.settings))
    return [
        f"{name} {then.get(name)} -> {now.get(name)}"
        for then, now in facts
        for name in _COMPARED
        if then.get(name) != now.get(name)
    ]


def _facts(report: BenchReport, part: str) -> dict[str, Any]:
    return {part: (getattr(report, part) or {}).get(_NAMES[part])}


def load_report(path: Path) -> BenchReport:
    """Read what `bench --json` wrote.

    Raises:
        UsageError: there is no such file, or it is not one of ours.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _not_ours(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, "it is not JSON") from error
    if not isinstance(values, dict) or "version" not in values:
        raise _not_ours(path, "it holds something else")
    if values["version"] != VERSION:
        raise _not_ours(path, f"its version is {values['version']}, not {VERSION}")
    try:
        return _SHAPE.validate_python(_named(values))
    except ValidationError as error:
        raise _not_ours(path, str(faults_of(error, "a benchmark")[0])) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_ours(path, f"{error} is missing or wrong") from error


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
