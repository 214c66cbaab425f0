"""A grammar as the engine's constraint (`engine/constraint.py`), matched by llguidance."""

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from localspec.errors import LocalspecError
from localspec.grammar.tokens import GrammarTokens


class GrammarConstraint:
    """One answer on its way through a grammar.

    A matcher goes back over what it took, so one serves the answer and all that is tried ahead of it.

    Args:
        tokens: the model's.
        grammar: in llguidance's dialect of Lark, or what `LLMatcher.grammar_from_…` made.
        said: text that the prompt has said for the model, and the grammar knows.

    Raises:
        LocalspecError: the grammar cannot be followed.
    """

    def __init__(self, tokens: GrammarTokens, grammar: str, said: str = "") -> None:
        self._ends = tokens.ends
        self._matcher = LLMatcher(tokens.tokenizer, grammar, log_level=0)
        self._ahead: list[int] = []
        self._reached = True
        self._check()
        if said:
            self._matcher.try_consume_tokens(tokens.ids(said))

    def at(self, ahead: list[int]) -> "GrammarConstraint":
        """See `Constraint.at`. What is not allowed leads nowhere."""
        common = 0
        while common < min(len(self._ahead), len(ahead)) and self._ahead[common] == ahead[common]:
            common += 1
        if common < len(self._ahead):
            self._matcher.rollback(len(self._ahead) - common)
        rest = ahead[common:]
        taken = self._matcher.try_consume_tokens(rest) if rest else 0
        self._ahead = ahead[: common + taken]
        self._reached = taken == len(rest)
        return self

    def take(self, tokens: list[int]) -> None:
        """See `Constraint.take`."""
        self.at(tokens)
        self._ahead = []
        self._reached = True

    def n_allowed(self, tokens: list[int]) -> int:
        """See `Place.n_allowed`."""
        if not self._reached:
            return 0
        end = next((i for i, token in enumerate(tokens) if token in self._ends), len(tokens))
        n: int = self._matcher.validate_tokens(tokens[:end]) if end else 0
        if n < end or end == len(tokens):
            return n
        # llguidance counts an end among what it validates only as long as more could follow
        here = self._ahead
        whole = self.at([*here, *tokens[:end]])._matcher.is_accepting()
        self.at(here)
        return end + 1 if whole else end

    def masked(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """See `Place.masked`."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        allowed = np.unpackbits(bits, count=len(row), bitorder="little").view(bool)
        if not self._reached or not allowed.any():
            self._check()
            raise LocalspecError("The grammar leaves no way to go on.")
        return np.where(allowed, row, np.float32(-np.inf))

    def forced(self, most: int) -> list[int]:
        """See `Place.forced`."""
        if not self._reached:
            return []
        tokens: list[int] = self._matcher.compute_ff_tokens()
        return tokens[:most]

    def _check(self) -> None:
        if self._matcher.is_error():
            reason = self._matcher.get_error().splitlines()[0]
            raise LocalspecError(f"The grammar cannot be followed: {reason}")
