"""The seam to grammars: what an answer may be, a token at a time.

The target picks as it would alone, and only where that is refused it picks again among what is allowed
(llama.cpp: `common_sampler_sample`, common/sampling.cpp). So a grammar changes nothing where the model
keeps to it, and costs a check of one token there. What is asked about tokens that may not stay is asked
with them ahead; only `take` moves on for good, so nothing has to be rolled back when a draft is refused.
"""

from typing import Protocol

from localspec.engine.backend import Logits


class Place(Protocol):
    """A place in an answer; valid until the next one is asked for."""

    def n_allowed(self, tokens: list[int]) -> int:
        """How many of these tokens may follow, from the first on."""

    def masked(self, row: Logits) -> Logits:
        """A copy of a row of logits, shape (n_vocab,), in which what may not follow is -inf.

        Raises:
            LocalspecError: nothing may follow, or what may cannot be told within bounds.
        """

    def forced(self, most: int) -> list[int]:
        """The tokens, at most so many, that spell out the only way on; empty where there are several."""


class Constraint(Protocol):
    """What one answer may be, and how far it has come."""

    def at(self, ahead: list[int]) -> Place:
        """The place after the answer so far and `ahead`, tokens that are all allowed."""

    def take(self, tokens: list[int]) -> None:
        """The answer goes on with these."""
