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
    branches: bool
    """Drafts may branch: the ids from n_seq_max on are sequences for that, one for each."""

    @property
    def memory(self) -> Memory:
        """What it remembers of each sequence."""

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

    @property
    def memory(self) -> Memory:
        """What it remembers of each sequence."""

    def encode(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the head makes of the target's states before it reads them: EAGLE fuses three layers.

        Args:
            states: shape (n, width of the target's states).

        Returns:
            Shape (n, width of the head's states).
        """

    def read(
        self, batch: Batch, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Run one pass.

        Args:
            batch: the tokens.
            states: one a token, shape (len(batch), width).

        Returns:
            Logits, shape (number of outputs, n_vocab), and the head's own state after each of these tokens,
            shape (number of outputs, width): views that the next call overwrites.
        """


class ChainedHead(Head, Protocol):
    """Several heads, one for each place of a draft; all read the same tokens, each has its own memory."""

    n_heads: int

    def use(self, i: int) -> None:
        """The next passes are head `i`'s, 0 .. n_heads - 1."""


class Proposals(Protocol):
    """What a pass over blocks proposes; valid until the next pass."""

    def row(self, i: int, before: int) -> Logits:
        """Logits at a row of the batch, shape (n_vocab,).

        Args:
            i: the row.
            before: the token that was chosen for the place before.
        """

    def confidence(self, i: int) -> float | None:
        """The model's own estimate that the proposal at a row will be accepted; None if it has none."""


class BlockHead(Protocol):
    """A model that fills in blocks of masks, opened for decoding."""

    n_batch: int
    """Largest number of tokens in one pass."""

    @property
    def memory(self) -> Memory:
        """What it remembers of each sequence."""

    mask: int
    """The token that stands for one to be proposed."""
    n_block: int
    """Most proposals of one block."""
    first_row: int
    """Row of a block with the first proposal: 0 if the last known token's own row has it."""

    def remember(self, batch: Batch, states: NDArray[np.float32]) -> None:
        """Take the target's states at these positions into memory.

        Args:
            batch: where they belong; its tokens are not looked at.
            states: shape (len(batch), width).
        """

    def propose(self, batch: Batch) -> Proposals:
        """Run one pass over blocks of equal size, each the last known token of a sequence and masks."""
