"""A guest drafts: a head that reads the target's own memory and has none (gemma4-assistant).

Nothing of it is copied and nothing is read before a draft. Since nothing it reads is added to that
memory, it always drafts from the same position (llama.cpp: `is_mem_shared` in
`common_speculative_impl_draft_mtp`, common/speculative.cpp).
"""

import numpy as np

from localspec.batch import Batch
from localspec.engine.backend import Head, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.trail import State, Trails
from localspec.engine.sequence import Sequence


class GuestDrafter:
    """Drafts from the target's memory (see `Drafter`).

    Args:
        head: the head's model.
        states: shows the states of the target's last pass.
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
    """

    kind = "mtp"
    relative_cost = 0.1
    at_once = False
    reads_states = True

    def __init__(self, head: Head, states: States, n_vocab: int) -> None:
        self._head = head
        self._states = states
        self._n_vocab = n_vocab
        self._trails = Trails()
        self._own: dict[Draft, State] = {}

    def n_behind(self, sequence: Sequence) -> int:
        """The one token that goes before a draft."""
        return 1

    def begin(self, sequence: Sequence) -> None:
        """Its last prompt token is always read anew, and its state shown."""

    def process(self, batch: Batch) -> None:
        """Take the target's states over."""
        states = self._states.rows(len(batch))
        self._trails.put(batch.tokens, batch.positions, batch.seq_ids, states)

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """One more proposal for each draft, from one pass."""
        batch, states = Batch(), list[State]()
        for d in drafts:
            s = d.sequence
            known = self._own.get(d) if d.tokens else self._trails[s.seq_id].at(len(s.tokens) - 2)
            assert known is not None, "the target has just read the token before the last one"
            batch.add((d.tokens or s.tokens)[-1:], len(s.tokens) - 1, s.seq_id, 1)
            states.append(known)
        logits, own = self._head.read(batch, np.array(states))
        for i, d in enumerate(drafts):
            d.propose_from(logits[i, : self._n_vocab])
            self._own[d] = own[i].copy()
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Keep the one state that the next draft begins with."""
        self._own.clear()
        s = draft.sequence
        trail = self._trails[s.seq_id]
        trail.cut(len(s.tokens) - 1)
        trail.forget_before(len(s.tokens) - 2)

    def end(self, sequence: Sequence) -> None:
        """Nothing to keep."""
