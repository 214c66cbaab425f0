"""All state of one running sequence."""

from dataclasses import dataclass, field

from localspec.engine.constraint import Constraint
from localspec.engine.sampling import Sampler
from localspec.engine.stats import SequenceStats
from localspec.events import FinishReason


@dataclass(slots=True, eq=False)
class Sequence:
    """A prompt and the answer that grows on it.

    Attributes:
        seq_id: its place in the memory of every model.
        tokens: prompt and answer, all ids known so far.
        n_prompt: how many of them are the prompt.
        n_cached: prompt tokens that were still in memory when the sequence was opened.
        n_past: how many of them are in the target's memory. While decoding this is one less than
            `len(tokens)`: the last token was picked but not yet decoded.
        max_tokens: most tokens to generate; None for no limit but the context.
        sampler: picks the target's tokens, and proposes the drafter's with the same noise.
        constraint: what the answer may be; None for anything.
        finish: why it ended; None while it runs.
        stats: counters of this sequence.
    """

    seq_id: int
    tokens: list[int]
    sampler: Sampler
    max_tokens: int | None = None
    n_prompt: int = 0
    n_cached: int = 0
    n_past: int = 0
    constraint: Constraint | None = None
    finish: FinishReason | None = None
    stats: SequenceStats = field(default_factory=SequenceStats)

    @property
    def n_generated(self) -> int:
        """Tokens of the answer so far."""
        return len(self.tokens) - self.n_prompt

    @property
    def n_pending(self) -> int:
        """Tokens that the target must still read: while decoding the last one, and those before it that
        its memory had to forget."""
        return len(self.tokens) - self.n_past

    @property
    def prefilling(self) -> bool:
        """True until the first token of the answer is picked."""
        return len(self.tokens) == self.n_prompt

    def extend(self, tokens: list[int]) -> None:
        """The answer grows by these for good."""
        self.tokens += tokens
        if self.constraint is not None:
            self.constraint.take(tokens)


def common_prefix(a: list[int], b: list[int]) -> int:
    """Length of the longest common prefix of two token lists."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    return next(i for i in range(n) if a[i] != b[i])
