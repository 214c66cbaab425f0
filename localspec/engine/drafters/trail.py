"""The target's states of the last tokens of a sequence, for drafters that read them."""

import numpy as np
from numpy.typing import NDArray

State = NDArray[np.float32]
"""One hidden state, shape (width,)."""


class Trail:
    """States by position, without gaps, the newest last; the oldest are let go of once they are used.

    Attributes:
        first: position of the oldest state.
        tokens: ids at the positions of the states.
    """

    def __init__(self) -> None:
        self.first = 0
        self.tokens: list[int] = []
        self._states: list[State] = []

    @property
    def end(self) -> int:
        """Position after the newest state."""
        return self.first + len(self._states)

    def put(self, position: int, tokens: list[int], states: NDArray[np.float32]) -> None:
        """Take the states of a pass over; what was known from `position` on is replaced.

        Args:
            position: of the first token.
            tokens: ids of the pass.
            states: shape (len(tokens), width).
        """
        if not self.first <= position <= self.end:
            self.first = position
        self.cut(position)
        self.tokens += tokens
        self._states += list(np.array(states))

    def cut(self, n: int) -> None:
        """Forget the states of positions from `n` on."""
        n = max(n - self.first, 0)
        del self.tokens[n:], self._states[n:]

    def forget_before(self, position: int) -> None:
        """Let go of states that nobody will ask for again."""
        n = min(max(position - self.first, 0), len(self._states))
        del self.tokens[:n], self._states[:n]
        self.first += n

    def at(self, position: int) -> State | None:
        """The state at a position, None if it is not known."""
        if self.first <= position < self.end:
            return self._states[position - self.first]
        return None


class Trails:
    """One trail a sequence, filled from the target's passes.

    A text that begins like the last one in its place goes on with what is known of that.
    """

    def __init__(self) -> None:
        self._trails: dict[int, Trail] = {}

    def __getitem__(self, seq_id: int) -> Trail:
        return self._trails.setdefault(seq_id, Trail())

    def put(
        self,
        tokens: list[int],
        positions: list[int],
        seq_ids: list[int],
        states: NDArray[np.float32],
    ) -> None:
        """Sort the states of a pass by sequence; the tokens of each follow each other in it."""
        start = 0
        for end in range(1, len(tokens) + 1):
            if end == len(tokens) or seq_ids[end] != seq_ids[start]:
                trail = self[seq_ids[start]]
                trail.put(positions[start], tokens[start:end], states[start:end])
                start = end
