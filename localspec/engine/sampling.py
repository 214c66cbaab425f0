"""How a token is picked from a row of logits, for target and drafter alike.

pick = argmax over the surviving candidates of logit(id) + gumbel(seed, position, id): the Gumbel-max
form of sampling from p. Truncation follows llama.cpp's order: penalties, top-k, top-p, min-p,
temperature (common/sampling.cpp). A pick depends on the row, the position and the tokens before
it, on nothing else, so nothing here has to be rolled back when a draft is rejected.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backend import Logits
from localspec.engine.candidates import most_likely
from localspec.engine.constraint import Place
from localspec.engine.noise import gumbel
from localspec.engine.shortlist import NEAR, Pick, pick_near
from localspec.errors import LocalspecError
from localspec.params import SamplingParams

_HEAD = 256
"""Tokens looked at first for top-p without top-k."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What can be picked at one place.

    Attributes:
        ids: token ids, shape (n,); most likely first where top-k, top-p or min-p cut anything.
        logits: after temperature, shape (n,).
        scores: logit + noise, shape (n,); the largest is picked. Adding noise to the logits instead of
            the log probabilities shifts all by the same and picks the same.
    """

    ids: NDArray[np.int64]
    logits: NDArray[np.float64]
    scores: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """What is picked how often, shape (n,), summing to 1."""
        weights = np.exp(self.logits - self.logits.max())
        return np.asarray(weights / weights.sum())

    def pick(self) -> Pick:
        """The one with the largest score."""
        best = int(self.scores.argmax())
        weights = np.exp(self.logits - self.logits[best])
        share = 1.0 / float(weights.sum())
        if len(self.ids) == 1:
            return Pick(int(self.ids[best]), share)
        others = self.scores.copy()
        others[best] = -np.inf
        second = int(others.argmax())
        return Pick(
            int(self.ids[best]), share, int(self.ids[second]), share * float(weights[second])
        )


class NotNumbersError(LocalspecError):
    """A row of logits holds something that is not a number."""

    def __init__(self) -> None:
        super().__init__(
            "The model's output is not numbers (NaN): its file was made wrongly, or its numbers overflow here.",
            "Try another quantization, or the file of another maker",
        )


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

    def pick(
        self, row: Logits, position: int, window: list[int], place: Place | None = None
    ) -> Pick:
        """Choose the token at `position`.

        Args:
            row: logits, shape (n_vocab,).
            position: index in the sequence of the token to be chosen.
            window: what `window` gave for the tokens before it.
            place: what may follow them; None for anything.

        Raises:
            NotNumbersError: the row holds something that is not a number.
        """
        row = self._adjusted(row, window)
        found = self._pick(row, position)
        if place is None or place.n_allowed([found.token]):
            return found
        return self._pick(place.masked(row), position)

    def token(
        self, row: Logits, position: int, window: list[int], place: Place | None = None
    ) -> int:
        """Like `pick`, without the probability: what verification needs, and cheaper when greedy."""
        if self.params.temperature > 0:
            return self.pick(row, position, window, place).token
        row = self._adjusted(row, window)
        best = _largest(row)
        if place is None or place.n_allowed([best]):
            return best
        return _largest(place.masked(row))

    def candidates(self, row: Logits, position: int, window: list[int]) -> Candidates:
        """All tokens that survive truncation at `position`, with their scores.

        This is the definition of a pick. At temperature 0 the scores are the logits themselves, and
        only tokens near the largest are given.
        """
        return self._candidates(self._adjusted(row, window), position)

    def _pick(self, row: Logits, position: int) -> Pick:
        return pick_near(row, self.params, position) or self._candidates(row, position).pick()

    def _candidates(self, row: Logits, position: int) -> Candidates:
        params = self.params
        if isnan(row.max()):
            raise NotNumbersError
        if params.temperature <= 0:
            ids = np.flatnonzero(row >= row.max() - np.float32(NEAR))
            logits = row[ids].astype(np.float64)
            return Candidates(ids, logits, logits)
        ids, logits = self._truncate(row)
        logits = logits / params.temperature
        return Candidates(ids, logits, logits + gumbel(params.seed, position, ids))

    def _truncate(self, row: Logits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Top-k, top-p and min-p: the ids left and their logits, most likely first if any is on."""
        params = self.params
        ids, total = self._top_k(row)
        logits = row[ids].astype(np.float64)
        if params.top_p < 1.0:
            cumulative = np.exp(logits - logits[0]).cumsum()
            total = cumulative[-1] if total is None else total
            keep = int(cumulative.searchsorted(params.top_p * total)) + 1
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
        row[ids] = (
            logits - n * np.float32(params.frequency_penalty) - np.float32(params.presence_penalty)
        )
        return row


def _largest(row: Logits) -> int:
    best = int(row.argmax())
    if isnan(row.item(best)):
        raise NotNumbersError
    return best
