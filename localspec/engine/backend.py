"""The one seam of the engine: what it needs from a model, in numbers only.

`llama/` provides these shapes, `runtime.py` brings the two together, and tests provide scripted
stand-ins. Nothing here knows llama.cpp.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.batch import Batch

Logits = NDArray[np.float32]
"""One row of logits, shape (n_vocab,)."""


class Memory(Protocol):
    """What a model remembers of each sequence (its KV cache), whatever its kind."""

    def mark(self, seq_id: int) -> None:
        """What follows may be taken back: a later `keep` may go back to where the sequence stands now."""

    def keep(self, seq_id: int, n_past: int) -> int:
        """Forget everything of a sequence but its first `n_past` tokens.

        Returns:
            How many of these `n_past` tokens had to be forgotten too and must be decoded again.
        """

    def fork(self, source: int, destination: int) -> None:
        """Make `destination` remember what `source` does."""

    def drop(self, seq_id: int) -> None:
        """Forget a sequence."""


class Model(Protocol):
    """A model opened for decoding."""

    n_vocab: int
    n_ctx: int
    """Tokens that fit into one sequence."""
    n_batch: int
    """Largest number of tokens in one pass."""
    n_seq_max: int
    """Sequences that can be remembered at once; their ids are 0 .. n_seq_max - 1."""
    n_outputs_max: int
    """Largest number of output rows in one pass."""
    memory: Memory

    def decode(self, batch: Batch) -> NDArray[np.float32]:
        """Run one pass.

        Returns:
            Logits, shape (number of outputs, n_vocab): a view that the next call overwrites.
        """


class States(Protocol):
    """Shows the hidden states of a model's last pass, for drafters that read them."""

    width: int

    def rows(self, n_tokens: int) -> NDArray[np.float32]:
        """The state after each token of the last pass, in its order.

        Args:
            n_tokens: of that pass.

        Returns:
            Shape (n_tokens, width): a view that the next pass overwrites.
        """


class Head(Protocol):
    """A head opened for decoding: each token comes with a state."""

    n_batch: int
    """Largest number of tokens in one pass."""
    memory: Memory

    def read(
        self, batch: Batch, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Run one pass.

        Args:
            batch: the tokens.
            states: one a token, shape (len(batch), width).

        Returns:
            Logits, shape (number of outputs, n_vocab), and the head's own state after each token, shape
            (len(batch), width): views that the next call overwrites.
        """
