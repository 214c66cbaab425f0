"""Heads in a chain draft: one MTP layer for each place of a draft (Step-3.5, MiMo-V2, Hunyuan 3).

The first head reads the last token with the target's state, the second reads that again and the first
one's proposal with its state, and so on. Each layer has keys and values of its own, so every head reads
every token of the text, and the chain anew in each draft (llama.cpp: `chain_heads` in
`common_speculative_impl_draft_mtp`, common/speculative.cpp; DeepSeek-AI 2024, arXiv 2412.19437, 2.2).
"""

import numpy as np

from localspec.batch import Batch
from localspec.engine.backend import ChainedHead, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.follower import Follower
from localspec.engine.drafters.trail import State
from localspec.engine.sequence import Sequence


class ChainDrafter:
    """Drafts with one head a proposal (see `Drafter`).

    Args:
        head: all heads, of which one is chosen before each pass.
        states: shows the states of the target's last pass.
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
    """

    kind = "mtp"
    relative_cost = 0.15
    at_once = False
    reads_states = True

    def __init__(self, head: ChainedHead, states: States, n_vocab: int) -> None:
        self._head = head
        self._blank = np.zeros(states.width, np.float32)
        self._n_vocab = n_vocab
        self._follower = Follower(states, head.memory, self._read_on, lag=1)
        self._chains: dict[Draft, list[State]] = {}

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
        """One more proposal for each draft, all of the same length, by the head of that place."""
        batch, states = Batch(), list[State]()
        for d in drafts:
            s, n = d.sequence, len(d.sequence.tokens) - 1
            if not d.tokens:
                d.limit = min(d.limit, self._head.n_heads)
                self._catch_up(s.seq_id, n)
                self._chains[d] = [self._state_before(s.seq_id, n)]
            self._follower.keep(s.seq_id, n)
            batch.add([s.tokens[-1], *d.tokens], n, s.seq_id, 1)
            states += self._chains[d]
        self._head.use(len(drafts[0].tokens))
        logits, own = self._head.read(batch, np.array(states))
        for i, d in enumerate(drafts):
            d.propose_from(logits[i, : self._n_vocab])
            self._chains[d].append(own[i].copy())
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget what was read with states that are not the target's, and states of refused tokens."""
        self._chains.clear()
        if draft.n_proposed:
            seq_id = draft.sequence.seq_id
            self._follower.keep(seq_id, self._follower.n_read[seq_id])
        self._follower.accept(draft, n_accepted)

    def end(self, sequence: Sequence) -> None:
        """What is known serves the next text that starts alike."""
        self._follower.end(sequence)

    def _catch_up(self, seq_id: int, n: int) -> None:
        """Have all heads read the first `n` tokens of a sequence."""
        while (first := self._follower.after_a_gap(seq_id)) < n:
            self._read_on(seq_id, n - first)

    def _read_on(self, seq_id: int, n: int) -> None:
        """See `Follower`."""
        trail, first = self._follower.trails[seq_id], self._follower.n_read.get(seq_id, 0)
        tokens = trail.tokens[first - trail.first :][: min(n, self._head.n_batch)]
        batch = Batch()
        batch.add(tokens, first, seq_id, 0)
        states = np.array([self._state_before(seq_id, i) for i in batch.positions])
        for i in range(self._head.n_heads):
            # a layer at a time: the same places in memory, each time by another one
            self._follower.keep(seq_id, first)
            self._head.use(i)
            self._head.read(batch, states)
        self._follower.has_read(seq_id, first + len(tokens))

    def _state_before(self, seq_id: int, position: int) -> State:
        state = self._follower.trails[seq_id].at(position - 1)
        # nothing comes before the first token of a text
        return self._blank if state is None else state
