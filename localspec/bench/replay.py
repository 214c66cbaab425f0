"""Replays recorded answers under a machine's cost curve: what each policy would have brought there.

Rates are tokens per time relative to plain decoding on that machine. "auto" begins each answer with
nothing learned, "auto-run" goes through them in order as an arm of a benchmark does, "auto-tuned"
has written the others once. The oracle is no policy: it knows beforehand which of the drafter model's
proposals are right, and takes the best depth each round; "foresight" knows their confidences only.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from localspec.bench.arm_names import ArmSpec, numbered
from localspec.bench.machines import Machine
from localspec.bench.oracle import foresight_rate, oracle_rate
from localspec.bench.proposals import DEPTH, Answer, recall
from localspec.bench.simulation import Arm, Simulation
from localspec.bench.trace import read_trace
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.margin import MarginDepth
from localspec.errors import UnsupportedFileError, UsageError

_FOLDS = 8
_TOGETHER_S = 600.0
"""Time that two answers are written side by side for, in plain passes."""

DEFAULT_POLICIES = (
    "plain",
    *(f"fixed:{n}" for n in range(1, 9)),
    *(f"threshold:0.{n}" for n in range(3, 10)),
    "auto",
    "auto-run",
    "auto-tuned",
)
_KINDS = ("plain", "fixed:N", "threshold:P", "auto", "auto-run", "auto-tuned")


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens per time of one policy, relative to plain decoding.

    Attributes:
        by_prompt: of each prompt.
    """

    by_prompt: dict[str, float]

    @property
    def rate_vs_plain(self) -> float:
        """Geometric mean over the prompts."""
        return exp(sum(log(x) for x in self.by_prompt.values()) / len(self.by_prompt))

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        by_prompt = {name: round(x, 4) for name, x in self.by_prompt.items()}
        return {"rate_vs_plain": round(self.rate_vs_plain, 4), "by_prompt": by_prompt}


@dataclass(frozen=True, slots=True)
class Together:
    """Two unlike answers in one batch.

    Attributes:
        prompts: the one whose proposals are right most often, and the one with the fewest.
        auto: rate of both together under "auto", relative to plain decoding of both in one batch.
        equal_depth: the best depth for both, and its rate.
    """

    prompts: tuple[str, str]
    auto: float
    equal_depth: tuple[int, float]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        depth, rate = self.equal_depth
        return {
            "prompts": list(self.prompts),
            "auto": round(self.auto, 4),
            "best_equal_depth": {"depth": depth, "rate_vs_plain": round(rate, 4)},
            "auto_vs_equal": round(self.auto / rate, 4),
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """Recorded answers under one machine's costs.

    Attributes:
        machine: whose.
        coverage: part of the places with a known proposal, 0..1.
        policies: by name, in the order asked for.
        oracle: see the module.
        oracle_lookup: an oracle that may look up instead, as "auto" may.
        foresight: what a policy could have that knows all confidences beforehand, see `oracle.py`.
        together: two answers in one batch; None if there is only one.
    """

    machine: Machine
    coverage: float
    policies: dict[str, Rates]
    oracle: Rates
    oracle_lookup: Rates
    foresight: Rates
    together: Together | None

    def to_json(self) -> dict[str, Any]:
        """The replay as JSON values."""
        return {
            "version": 1,
            "machine": self.machine.model_dump(mode="json"),
            "coverage": round(self.coverage, 4),
            "policies": {name: rates.to_json() for name, rates in self.policies.items()},
            "oracle": self.oracle.to_json(),
            "oracle_lookup": self.oracle_lookup.to_json(),
            "foresight": self.foresight.to_json(),
            "together": self.together.to_json() if self.together else None,
        }


def read_answers(paths: Sequence[Path]) -> dict[str, Answer]:
    """The answers of some traces that can be replayed, by name.

    Raises:
        LocalspecError: see `read_trace`.
        UnsupportedFileError: there is nothing in them to replay.
    """
    answers: dict[str, Answer] = {}
    for path in paths:
        for answer in recall(read_trace(path)):
            name = answer.prompt_id
            while name in answers:
                name = f"{path.stem}:{name}"
            if len(answer.tokens) > 1:
                answers[name] = answer
    if not any(answer.kind for answer in answers.values()):
        raise UnsupportedFileError(
            "There is nothing to replay: no drafter model proposed anything in these traces.",
            "Record one with a draft model: localspec bench -m MODEL -d MODEL --trace FILE --trace-full",
        )
    return answers


def replay(
    answers: Mapping[str, Answer], machine: Machine, policies: Iterable[str] = DEFAULT_POLICIES
) -> Replay:
    """Simulate every policy and the oracle on every answer.

    Raises:
        UsageError: a policy that does not exist.
    """
    makers = {name: policy_maker(name) for name in policies}
    ways = {"auto-tuned": tuned, "auto-run": in_order}
    rates = {name: ways.get(name, untuned)(make, answers, machine) for name, make in makers.items()}
    known = [answer.coverage for answer in answers.values()]
    return Replay(
        machine,
        sum(known) / len(known),
        rates,
        Rates({name: oracle_rate(a, machine) for name, a in answers.items()}),
        Rates({name: oracle_rate(a, machine, look_up=True) for name, a in answers.items()}),
        Rates({name: foresight_rate(a, machine) for name, a in answers.items()}),
        together(answers, machine),
    )


def policy_maker(name: str) -> Callable[[], DepthPolicy]:
    """Makes policies of a name: "plain", "fixed:4", "threshold:0.5", "auto", …

    Raises:
        UsageError: no such policy, with the one that was probably meant.
    """
    spec = numbered(name, "policy", "--policies") or ArmSpec(name)
    depth, threshold = spec.depth, spec.threshold
    if depth is not None:
        return lambda: FixedDepth(depth)
    if threshold is not None:
        return lambda: ThresholdDepth(DEPTH, threshold)
    if name == "plain":
        return NoDraft
    if name in ("auto", "auto-run", "auto-tuned"):
        return lambda: MarginDepth(DEPTH)
    close = difflib.get_close_matches(name, _KINDS, n=1, cutoff=0.4)
    meant = f"Did you mean {close[0]}? " if close else ""
    raise UsageError(f"There is no policy '{name}'.", f"{meant}Known: {', '.join(_KINDS)}")


def untuned(
    make: Callable[[], DepthPolicy], answers: Mapping[str, Answer], machine: Machine
) -> Rates:
    """Each answer by a policy that knows nothing yet."""
    return Rates(
        {
            name: Simulation(Arm.of(make(), machine, answer.kind), machine, [answer]).run().rate
            for name, answer in answers.items()
        }
    )


def in_order(
    make: Callable[[], DepthPolicy], answers: Mapping[str, Answer], machine: Machine
) -> Rates:
    """All answers in their order by one policy, which knows nothing at the start."""
    arm = Arm.of(make(), machine, _kind(answers))
    return Rates(
        {name: Simulation(arm, machine, [answer]).run().rate for name, answer in answers.items()}
    )


def tuned(
    make: Callable[[], DepthPolicy], answers: Mapping[str, Answer], machine: Machine
) -> Rates:
    """Each answer by a policy that has written the others once.

    With many answers they are taken in groups, and a policy has not seen its group.
    """
    found: dict[str, float] = {}
    names = list(answers)
    for fold in range(min(_FOLDS, len(names))):
        arm = Arm.of(make(), machine, _kind(answers))
        own = names[fold::_FOLDS]
        for name in names:
            if name not in own:
                Simulation(arm, machine, [answers[name]]).run()
        for name in own:
            found[name] = Simulation(arm.copy(), machine, [answers[name]]).run().rate
    return Rates({name: found[name] for name in names})


def _kind(answers: Mapping[str, Answer]) -> str:
    return next((answer.kind for answer in answers.values() if answer.kind), "")


def together(answers: Mapping[str, Answer], machine: Machine) -> Together | None:
    """The most and the least predictable answer in one batch, under "auto" and equal depths."""
    known = {name: a.acceptance for name, a in answers.items() if a.acceptance is not None}
    if len(known) < 2:
        return None
    ordered = sorted(known, key=lambda name: known[name] or 0.0)
    pair = ordered[-1], ordered[0]
    both = [answers[name] for name in pair]

    def rate(policy: DepthPolicy) -> float:
        arm = Arm.of(policy, machine, both[0].kind)
        return Simulation(arm, machine, both).run_for(_TOGETHER_S).rate * machine.pass_s(2) / 2

    equal = {depth: rate(FixedDepth(depth)) for depth in range(DEPTH + 1)}
    best = max(equal, key=equal.__getitem__)
    return Together(pair, rate(MarginDepth(DEPTH)), (best, equal[best]))
