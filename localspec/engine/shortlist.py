"""The everyday pick, where a handful of tokens decides: a few steps of plain Python.

After a pass of the model nothing of numpy is left in the processor's cache, where each of its calls
then costs ten times as much, and a round at depth 4 picks nine times. So the few tokens near the
top are looked at one by one. Where they might not be all that counts the answer is None, and the
definition is asked: `Sampler.candidates`. Both pick the same.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from localspec.engine.noise import gumbel_at, noise_key
from localspec.params import SamplingParams

NEAR = 8.0
"""Logits so far below the largest are not looked at: such a token weighs at most 0.03 % of the best."""

_FEW = 48
"""More tokens than this are faster dealt with by numpy."""


class Pick(NamedTuple):
    """A chosen token and the one that would have been chosen without it.

    Attributes:
        token: the choice.
        probability: its, among the candidates, 0..1.
        second: the runner-up; -1 where no other token is near.
        second_probability: its, 0..1.
    """

    token: int
    probability: float
    second: int = -1
    second_probability: float = 0.0


def pick_near(row: NDArray[np.float32], params: SamplingParams, position: int) -> Pick | None:
    """Choose as `Sampler.pick` does, or give None where other tokens might matter too.

    Args:
        row: logits, shape (n_vocab,), penalties applied.
        params: see `SamplingParams`.
        position: index in the sequence of the token to be chosen.
    """
    largest = row.max()
    near: list[int] = (row >= largest - np.float32(NEAR)).nonzero()[0].tolist()
    if not 0 < len(near) <= _FEW:
        return None
    # `near` ascends and the sort is stable: equal logits stay in the order of their ids
    found = sorted(((row.item(i), i) for i in near), key=lambda f: -f[0])
    if params.temperature <= 0:
        share = 1.0 / sum(exp(x - found[0][0]) for x, _ in found)
        if len(found) == 1:
            return Pick(found[0][1], share)
        return Pick(found[0][1], share, found[1][1], share * exp(found[1][0] - found[0][0]))
    n_left = _survivors([x - found[0][0] for x, _ in found], params, row.shape[0])
    if n_left is None:
        return None
    return _drawn(found[:n_left], params, position)


def _survivors(below: list[float], params: SamplingParams, n_vocab: int) -> int | None:
    """How many of the first tokens top-k, top-p and min-p leave, or None if others may be left too.

    Args:
        below: logits less the largest, descending.
        params: what cuts.
        n_vocab: tokens in all.
    """
    n_top = params.top_k if params.top_k > 0 else n_vocab
    weights = [exp(x) for x in below[:n_top]]
    n_near = len(weights)
    # The tokens not looked at: top-p counts their weight, which is between 0 and this.
    n_far = n_top - n_near
    unseen = n_far * exp(-NEAR)
    certain = n_near if n_far == 0 else n_near + 1
    total = sum(weights)
    by_min_p = certain
    if params.min_p > 0:
        floor = log(params.min_p)
        n = sum(x >= floor for x in below[:n_top])
        by_min_p = n if floor > -NEAR else certain
    fewest = min(by_min_p, _reaching(weights, params.top_p * total, certain, params.top_p))
    most = min(by_min_p, _reaching(weights, params.top_p * (total + unseen), certain, params.top_p))
    return fewest if fewest == most <= n_near else None


def _reaching(weights: list[float], share: float, otherwise: int, top_p: float) -> int:
    """How many of the weights, from the first on, sum up to a share; top-p of 1 cuts nothing."""
    if top_p >= 1.0:
        return otherwise
    cumulative = 0.0
    for n, weight in enumerate(weights, 1):
        cumulative += weight
        if cumulative >= share:
            return n
    return otherwise


def _drawn(found: list[tuple[float, int]], params: SamplingParams, position: int) -> Pick:
    """The token with the largest logit + noise."""
    if len(found) == 1:
        return Pick(found[0][1], 1.0)
    key = noise_key(params.seed, position)
    logits = [x / params.temperature for x, _ in found]
    scores = [x + gumbel_at(key, i) for x, (_, i) in zip(logits, found, strict=True)]
    best = scores.index(max(scores))
    share = 1.0 / sum(exp(x - logits[best]) for x in logits)
    scores[best] = float("-inf")
    second = scores.index(max(scores))
    return Pick(found[best][1], share, found[second][1], share * exp(logits[second] - logits[best]))
