"""A block drafts: masks after the last token, all filled in by one pass (DFlash, DSpark).

The drafter attends to the target's states, which it keeps as keys and values of its own. The masks' places
in its memory are freed after each draft (llama.cpp: `common_speculative_impl_draft_dflash`,
common/speculative.cpp; Chen et al. 2026, DFlash, arXiv 2602.06036).
"""

import numpy as np

from localspec.batch import Batch
from localspec.engine.backend import BlockHead, Proposals, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.follower import Follower
from localspec.engine.sequence import Sequence


class BlockDrafter:
    """Drafts a whole block from one pass (see `Drafter`).

    Args:
        head: the block's model.
        states: shows the states of the target's last pass.
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
        kind: "dflash" or "dspark".
    """

    relative_cost = 0.2
    at_once = True
    reads_states = True

    def __init__(
        self, head: BlockHead, states: States, n_vocab: int, *, kind: str = "dflash"
    ) -> None:
        self.kind = kind
        self._head = head
        self._n_vocab = n_vocab
        self._follower = Follower(states, head.memory, self._read_on, lag=0)

    def n_behind(self, sequence: Sequence) -> int:
        """See `Follower`."""
        return self._follower.n_behind(sequence)

    def begin(self, sequence: Sequence) -> None:
        """Keep what the last text in this place has in common with the new one."""
        self._follower.begin(sequence)

    def process(self, batch: Batch) -> None:
        """Take the target's states over."""
        self._follower.process(batch)

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """Fill each draft to its limit, as far as a block goes; all blocks are of one size."""
        empty = [d for d in drafts if not d.tokens and d.limit > 0]
        if not empty:
            return []
        for d in empty:
            s = d.sequence
            while (first := self._follower.after_a_gap(s.seq_id)) < len(s.tokens) - 1:
                self._read_on(s.seq_id, len(s.tokens) - 1 - first)
        n = min(max(d.limit for d in empty), self._head.n_block)
        size = n + self._head.first_row
        batch = Batch()
        for d in empty:
            s = d.sequence
            masks = [self._head.mask] * (size - 1)
            batch.add([s.tokens[-1], *masks], len(s.tokens) - 1, s.seq_id, size)
        proposals = self._head.propose(batch)
        for i, d in enumerate(empty):
            first_row = i * size + self._head.first_row
            self._fill(d, proposals, range(first_row, first_row + min(n, d.limit)))
            self._follower.keep(d.sequence.seq_id, len(d.sequence.tokens) - 1)
        return empty

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget the states of refused tokens."""
        self._follower.accept(draft, n_accepted)

    def end(self, sequence: Sequence) -> None:
        """What is known serves the next text that starts alike."""
        self._follower.end(sequence)

    def _fill(self, draft: Draft, proposals: Proposals, rows: range) -> None:
        before = draft.sequence.tokens[-1]
        for i in rows:
            draft.propose_from(proposals.row(i, before)[: self._n_vocab], proposals.confidence(i))
            before = draft.tokens[-1]

    def _read_on(self, seq_id: int, n: int) -> None:
        """See `Follower`."""
        trail, first = self._follower.trails[seq_id], self._follower.n_read.get(seq_id, 0)
        n = min(n, self._head.n_batch)
        batch = Batch()
        batch.add(trail.tokens[first - trail.first :][:n], first, seq_id, 0)
        states = [trail.at(i) for i in range(first, first + n)]
        self._head.remember(batch, np.array(states))
        self._follower.has_read(seq_id, first + n)
