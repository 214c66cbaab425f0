"""Traces that no model wrote: confidences and verdicts drawn as real ones were measured.

Acceptance by confidence is that of a 0.5B drafter for a 1.5B target. Certainty comes in runs, and every
token is new, so nothing can be looked up. Every round is recorded to depth 16.
"""

import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from localspec.engine.drafters.base import Draft
from localspec.engine.loop import Round
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.params import SamplingParams
from localspec.trace import TraceWriter

ACCEPTANCE = ((0.0, 0.1), (0.25, 0.35), (0.45, 0.52), (0.6, 0.66), (0.8, 0.87), (0.96, 0.965))
"""Confidence -> acceptance; above the last 0.997 at 1."""

PREDICTABLE, MIDDLING, OPEN = 0.9, 0.65, 0.2
"""Share of the places where a made-up drafter is certain."""

_WRONG = 1_000_000
"""Added to a token to make a wrong proposal of it."""


def acceptance(confidence: float) -> float:
    """Chance that a proposal of this confidence is right."""
    points = (*ACCEPTANCE, (1.0, 0.997))
    for (x0, y0), (x1, y1) in pairwise(points):
        if confidence <= x1:
            return y0 + (y1 - y0) * (confidence - x0) / (x1 - x0)
    return 0.997


def confidences(dice: random.Random, n: int, certain: float) -> list[float]:
    """Confidences of n proposals, of which a part is certain, in runs."""
    drawn: list[float] = []
    sure = True
    for _ in range(n):
        if dice.random() < 0.4:
            sure = dice.random() < certain
        drawn.append(dice.uniform(0.97, 1.0) if sure else 0.12 + 0.85 * dice.random() ** 1.5)
    return drawn


def write_trace(
    path: Path,
    shares: Iterable[float],
    *,
    n_tokens: int = 120,
    n_prompt: int = 60,
    depth: int = 4,
    recorded: int = 16,
    seed: int = 1,
) -> None:
    """Write a trace of one made-up prompt for each share of certain places.

    Args:
        path: of the trace.
        shares: see `PREDICTABLE`.
        n_tokens: tokens of each answer.
        n_prompt: tokens of each prompt.
        depth: proposals that were verified.
        recorded: proposals that were made.
        seed: of the dice.
    """
    dice = random.Random(seed)
    with TraceWriter(path, {"model": "made up", "drafter": "made up", "temperature": 0.0}) as out:
        for number, share in enumerate(shares):
            out.prompt(f"p{number}", f"{share:g}", f"fixed:{depth}")
            base = 10_000 * number
            answer = [base + 1000 + i for i in range(n_tokens)]
            confidence = confidences(dice, n_tokens + recorded, share)
            right = [dice.random() < acceptance(c) for c in confidence]
            sampler = Sampler(SamplingParams(temperature=0.0))
            tokens = [base + i for i in range(n_prompt)]
            s = Sequence(0, tokens, sampler, n_tokens, n_prompt)
            s.tokens.append(answer[0])
            out.round(Round(s, [answer[0]], 0, Draft(s, 0), 0.0, 1.0))
            while s.n_generated < n_tokens:
                place = s.n_generated
                draft = Draft(s, recorded, kind="draft-model")
                for i in range(place, min(place + recorded, n_tokens - 1)):
                    draft.propose(answer[i] if right[i] else answer[i] + _WRONG, confidence[i])
                draft.cut(depth)
                n = 0
                while n < len(draft.tokens) and draft.tokens[n] == answer[place + n]:
                    n += 1
                new = answer[place : place + n + 1]
                s.tokens += new
                out.round(Round(s, new, n, draft, 0.1, 0.2))
