"""How a token is picked from a row of logits, for target and drafter alike.

pick = argmax over the surviving candidates of log p(id) + gumbel(seed, position, id): the Gumbel-max
form of sampling from p. Truncation follows llama.cpp's order: penalties, top-k, top-p, min-p,
temperature (common/sampling.cpp). A pick depends on the row, the position and the tokens before
it, on nothing else, so nothing here has to be rolled back when a draft is rejected.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backend import Logits
from localspec.engine.candidates import most_likely
from localspec.engine.noise import gumbel
from localspec.params import SamplingParams

_CONFIDENCE_TOP = 32
"""Candidates over which a greedy pick's probability is computed; the rest weighs next to nothing."""

_HEAD = 256
"""Tokens looked at first for top-p without top-k."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A chosen token and its probability among the candidates, 0..1."""

    token: int
    probability: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """What can be picked at one place.

    Attributes:
        ids: token ids, shape (n,); most likely first where anything was cut.
        probabilities: after truncation and temperature, shape (n,), summing to 1.
        scores: log probability + noise, shape (n,); the largest is picked.
    """

    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    scores: NDArray[np.float64]


class Sampler:
    """Picks tokens under one set of parameters; holds no state.

    Args:
        params: see `SamplingParams`.
        suppressed: ids that must never be picked (llama_vocab_get_suppress_tokens).
    """

    def __init__(self, params: SamplingParams, suppressed: Iterable[int] = ()) -> None:
        self.params = params
        self._suppressed = np.fromiter(suppressed, dtype=np.int64)
        self._penalising = (
            params.repeat_penalty != 1.0
            or params.presence_penalty != 0.0
            or params.frequency_penalty != 0.0
        ) and params.penalty_window > 0

    def window(self, tokens: list[int], draft: list[int]) -> list[int]:
        """The tokens that the penalties of the next pick look at: the last ones before it."""
        if not self._penalising:
            return []
        n = self.params.penalty_window
        return (tokens[-n:] + draft)[-n:]

    def pick(self, row: Logits, position: int, window: list[int]) -> Pick:
        """Choose the token at `position`.

        Args:
            row: logits, shape (n_vocab,).
            position: index in the sequence of the token to be chosen.
            window: what `window` gave for the tokens before it.
        """
        if self.params.temperature > 0:
            found = self.candidates(row, position, window)
            best = int(found.scores.argmax())
            return Pick(int(found.ids[best]), float(found.probabilities[best]))
        row = self._adjusted(row, window)
        top = row[most_likely(row, _CONFIDENCE_TOP)].astype(np.float64)
        return Pick(int(row.argmax()), float(1.0 / np.exp(top - top[0]).sum()))

    def token(self, row: Logits, position: int, window: list[int]) -> int:
        """Like `pick`, without the probability: what verification needs, and cheaper when greedy."""
        if self.params.temperature > 0:
            return self.pick(row, position, window).token
        return int(self._adjusted(row, window).argmax())

    def candidates(self, row: Logits, position: int, window: list[int]) -> Candidates:
        """All tokens that survive truncation at `position`, with their scores.

        At temperature 0 the scores are the logits themselves.
        """
        params = self.params
        row = self._adjusted(row, window)
        if params.temperature <= 0:
            ids = most_likely(row, _CONFIDENCE_TOP)
            logits = row[ids].astype(np.float64)
            return Candidates(ids, _softmax(logits), logits)
        ids, logits = self._truncate(row)
        probabilities = _softmax(logits / params.temperature)
        with np.errstate(divide="ignore"):
            scores = np.log(probabilities) + gumbel(params.seed, position, ids)
        return Candidates(ids, probabilities, scores)

    def _truncate(self, row: Logits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Top-k, top-p and min-p: the ids left and their logits, most likely first if any is on."""
        params = self.params
        ids, total = self._top_k(row)
        logits = row[ids].astype(np.float64)
        if params.top_p < 1.0:
            total = total or float(np.exp(logits - logits[0]).sum())
            cumulative = np.cumsum(np.exp(logits - logits[0])) / total
            keep = int(np.searchsorted(cumulative, params.top_p)) + 1
            ids, logits = ids[:keep], logits[:keep]
        if params.min_p > 0.0:
            keep = int((logits >= logits[0] + np.log(params.min_p)).sum())
            ids, logits = ids[:keep], logits[:keep]
        return ids, logits

    def _top_k(self, row: Logits) -> tuple[NDArray[np.int64], float | None]:
        """The ids that the later cuts need to see; without top-k, as few of them as is exact.

        Returns:
            The ids, most likely first where a later cut needs that, and the sum of exp(logit - largest)
            over the whole row where they are only the head of it.
        """
        params = self.params
        if params.top_k > 0:
            return most_likely(row, params.top_k), None
        largest = row.max()
        if params.top_p < 1.0:
            total = float(np.exp(row - largest).sum(dtype=np.float64))
            k = _HEAD
            while k < row.shape[0]:
                ids = most_likely(row, k)
                if np.exp(row[ids].astype(np.float64) - largest).sum() >= params.top_p * total:
                    return ids, total
                k *= 8
            return most_likely(row, 0), total
        if params.min_p > 0.0:
            ids = np.flatnonzero(row >= largest + np.float32(np.log(params.min_p)))
            return ids[np.argsort(-row[ids], kind="stable")], None
        return np.arange(row.shape[0]), None

    def _adjusted(self, row: Logits, window: list[int]) -> Logits:
        """The row with suppressed tokens and penalties applied (llama_sampler_penalties)."""
        if not self._penalising and not self._suppressed.size:
            return row
        row = row.copy()
        row[self._suppressed] = -np.inf
        if not window:
            return row
        params = self.params
        counts = Counter(window)
        ids = np.fromiter(counts, dtype=np.int64, count=len(counts))
        n = np.fromiter(counts.values(), dtype=np.float32, count=len(counts))
        logits = row[ids]
        repeat = np.float32(params.repeat_penalty)
        logits = np.where(logits <= 0, logits * repeat, logits / repeat)
        row[ids] = logits - n * np.float32(params.frequency_penalty) - np.float32(
            params.presence_penalty
        )
        return row


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    total: float = weights.sum()
    return np.asarray(weights / total)
