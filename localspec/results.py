"""What a benchmark measured, as plain values: made by `bench/`, drawn by `ui/`, kept as JSON.

One `Run` is one prompt under one arm; nothing in it was computed from another machine or another day.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 1

LEAST_TOKENS = 8
"""Rates of shorter answers say more about the clock than about the arm."""

FEW_PROMPTS = 5
"""Fewer prompts are too few for an interval over them."""

PositionCounts = list[tuple[int, int]]
"""For each position in a draft, the first first, how many proposals were tested and accepted there."""


@dataclass(frozen=True, slots=True)
class Run:
    """One prompt, answered once under one arm.

    Attributes:
        prompt_id: which prompt of the suite.
        prompt_class: its class: "code", "edit", …; "class" in JSON.
        arm: "plain", "auto", "fixed:4", "threshold:0.5", "lookup", …
        repeat: 0 for the first time.
        tokens: tokens generated.
        tokens_per_s: rate of the decode phase; None if the answer had fewer than two tokens.
        acceptance_rate: accepted / tested, 0..1; None if nothing was drafted.
        tokens_per_round: tokens of the decode phase per verify pass; None for peers.
        ttft_s: seconds from sending the prompt to the first token.
        identical_to_plain: the same token ids as the plain arm; None where that cannot be said.
        first_divergence: index of the first token that differs; None if none does.
        same_text: of a peer, the same text as the plain arm's but for space around it, which nobody
            promises; None where that cannot be said, and for our own arms.
    """

    prompt_id: str
    prompt_class: str
    arm: str
    repeat: int
    tokens: int
    tokens_per_s: float | None
    acceptance_rate: float | None
    tokens_per_round: float | None
    ttft_s: float
    identical_to_plain: bool | None
    first_divergence: int | None
    same_text: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The run as JSON values."""
        values = asdict(self)
        values["class"] = values.pop("prompt_class")
        return values


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over all its runs, against plain runs of the same prompts.

    Attributes:
        speedup_geomean: × plain, geometric mean over prompts.
        speedup_median: × plain, median over prompts.
        speedup_min: × plain of the worst prompt.
        speedup_ci95: bootstrap interval of the geometric mean over prompts.
        tokens_per_s: median over runs.
        acceptance_rate: accepted / tested over all runs; None if nothing was drafted.
        tokens_per_round: mean over runs; None for peers.
        ttft_s: median over runs.
        identical: runs with the tokens of the plain arm.
        compared: runs for which that can be said.
        by_class: × plain of each class of prompts, geometric mean.
        by_position: acceptance by position in the draft, over all runs; empty if nothing was drafted.
    """

    speedup_geomean: float
    speedup_median: float
    speedup_min: float
    speedup_ci95: tuple[float, float]
    tokens_per_s: float
    acceptance_rate: float | None
    tokens_per_round: float | None
    ttft_s: float
    identical: int
    compared: int
    by_class: dict[str, float] = field(default_factory=dict)
    by_position: PositionCounts = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        values = asdict(self)
        values["speedup_ci95"] = list(self.speedup_ci95)
        values["by_position"] = [list(counts) for counts in self.by_position]
        values["by_class"] = {name: {"speedup_geomean": x} for name, x in self.by_class.items()}
        return values


@dataclass(frozen=True, slots=True)
class BenchReport:
    """A whole benchmark.

    Attributes:
        machine: processor, cores, memory, system, llama.cpp, threads, …: facts by name.
        model: name, file, quantization, … of the target.
        drafter: the same of the drafter; None if none took part.
        settings: tokens, temperature, seed, numerics, suite, …
        runs: all that finished, in the order they ran.
        summary: by arm, in the order asked for.
        peak_memory_bytes: of this process.
        drift: rate of the plain arm in the last prompts / in the first; None if too few ran.
        calibration_error: expected calibration error of the drafter's confidence under "auto"; None
            if that arm drafted nothing.
    """

    machine: dict[str, Any]
    model: dict[str, Any]
    drafter: dict[str, Any] | None
    settings: dict[str, Any]
    runs: list[Run]
    summary: dict[str, ArmSummary]
    peak_memory_bytes: int
    drift: float | None = None
    calibration_error: float | None = None

    def n_prompts(self, arm: str) -> int:
        """Prompts that an arm has answers to which count."""
        return len({r.prompt_id for r in self.runs if r.arm == arm and r.tokens >= LEAST_TOKENS})

    @property
    def short(self) -> list[str]:
        """Prompts with answers so short that they are in no summary."""
        return list(dict.fromkeys(r.prompt_id for r in self.runs if r.tokens < LEAST_TOKENS))

    @property
    def peer_note(self) -> str | None:
        """What to know of the arm "peer", as a sentence; None if there is none."""
        peer = self.settings.get("peer")
        if not isinstance(peer, dict):
            return None
        parts = [f"peer is another server, {peer['url']}"]
        parts += [f"model {peer['model']}"] if peer.get("model") else []
        parts += [f"timed by {peer['timed_by']}"] if peer.get("timed_by") else []
        if peer.get("drafted"):
            parts.append(f"kept {peer['accepted']} of the {peer['drafted']} tokens it drafted")
        said = [run.same_text for run in self.runs if run.same_text is not None]
        if said:
            parts.append(
                f"the text of plain in {sum(said)} of {len(said)} answers, which nobody promises"
            )
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values; `bench.compare` reads them back."""
        return {
            "version": VERSION,
            "machine": self.machine,
            "model": self.model,
            "drafter": self.drafter,
            "settings": self.settings,
            "runs": [run.to_json() for run in self.runs],
            "summary": {arm: summary.to_json() for arm, summary in self.summary.items()},
            "peak_memory_bytes": self.peak_memory_bytes,
            "drift": self.drift,
            "calibration_error": self.calibration_error,
        }
