"""From runs to figures: × plain by prompt, over all of them and by class.

Prompts are the unit: repeats of a prompt are put together by their median first, and the bootstrap
draws prompts (Efron 1979, percentile interval), since answers of one prompt are alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from localspec.results import LEAST_TOKENS, ArmSummary, PositionCounts, Run

_RESAMPLES = 2000


def summarise(
    runs: Sequence[Run],
    arms: Sequence[str],
    tests: Mapping[str, tuple[int, int]],
    seed: int,
    reference: str = "plain",
    positions: Mapping[str, PositionCounts] | None = None,
) -> dict[str, ArmSummary]:
    """Each arm against plain runs of the same prompts.

    Args:
        runs: all that finished.
        arms: names, in the order wanted.
        tests: for each arm the proposals tested and accepted, over all its runs.
        seed: of the bootstrap.
        reference: the arm that the others are compared with.
        positions: the same tests by position in the draft.

    Returns:
        By arm; without those of which no prompt can be compared.
    """
    found = {}
    plain = _rates(runs, reference)
    for arm in arms:
        own = _rates(runs, arm)
        ratios = {p: own[p] / plain[p] for p in own if p in plain}
        if ratios:
            mine = [run for run in runs if run.arm == arm]
            summary = _summary(mine, ratios, tests.get(arm, (0, 0)), seed)
            found[arm] = replace(summary, by_position=(positions or {}).get(arm, []))
    return found


def _summary(
    runs: list[Run], ratios: dict[str, float], tests: tuple[int, int], seed: int
) -> ArmSummary:
    classes = {run.prompt_id: run.prompt_class for run in runs}
    by_class: dict[str, list[float]] = {}
    for prompt, ratio in ratios.items():
        by_class.setdefault(classes[prompt], []).append(ratio)
    logs = np.log(np.array(list(ratios.values())))
    compared = [run.identical_to_plain for run in runs if run.identical_to_plain is not None]
    rounds = [run.tokens_per_round for run in runs if run.tokens_per_round is not None]
    tested, accepted = tests
    return ArmSummary(
        speedup_geomean=float(np.exp(logs.mean())),
        speedup_median=median(ratios.values()),
        speedup_min=min(ratios.values()),
        speedup_ci95=_interval(logs, seed),
        tokens_per_s=median(rate for run in runs if (rate := _rate(run)) is not None),
        acceptance_rate=accepted / tested if tested else None,
        tokens_per_round=sum(rounds) / len(rounds) if rounds else None,
        ttft_s=median(run.ttft_s for run in runs),
        identical=sum(compared),
        compared=len(compared),
        by_class={
            name: float(np.exp(np.mean(np.log(values)))) for name, values in by_class.items()
        },
    )


def _rates(runs: Sequence[Run], arm: str) -> dict[str, float]:
    """Median rate of an arm for each prompt it has a usable run of."""
    rates: dict[str, list[float]] = {}
    for run in runs:
        rate = _rate(run)
        if run.arm == arm and rate is not None:
            rates.setdefault(run.prompt_id, []).append(rate)
    return {prompt: median(values) for prompt, values in rates.items()}


def _rate(run: Run) -> float | None:
    return run.tokens_per_s if run.tokens >= LEAST_TOKENS and run.tokens_per_s else None


def _interval(logs: NDArray[np.float64], seed: int) -> tuple[float, float]:
    """95 % bootstrap interval of the geometric mean.

    Args:
        logs: logarithms of × plain, shape (prompts,).
        seed: of the draws.
    """
    rng = np.random.default_rng(abs(seed))
    drawn = rng.integers(0, len(logs), size=(_RESAMPLES, len(logs)))
    low, high = np.percentile(logs[drawn].mean(axis=1), (2.5, 97.5))
    return float(np.exp(low)), float(np.exp(high))
