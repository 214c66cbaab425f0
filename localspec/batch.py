"""The tokens of one pass, as plain lists: what `engine/` lays out and `llama/` runs."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Batch:
    """Tokens of any number of sequences, for one pass. All lists have the same length.

    Attributes:
        tokens: token ids.
        positions: position of each token in its sequence, without gaps.
        seq_ids: sequence of each token.
        outputs: True where logits are wanted; output rows come back in this order.
        shared: row -> a second sequence that its token belongs to as well.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    seq_ids: list[int] = field(default_factory=list)
    outputs: list[bool] = field(default_factory=list)
    shared: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, tokens: list[int], position: int, seq_id: int, n_outputs: int) -> None:
        """Append a run of tokens of one sequence; the last `n_outputs` of them want logits."""
        n = len(tokens)
        self.tokens += tokens
        self.positions += range(position, position + n)
        self.seq_ids += [seq_id] * n
        self.outputs += [False] * (n - n_outputs) + [True] * n_outputs
