"""A head drafts: a layer or few that read the target's own state (MTP, EAGLE).

A head sees each token together with the target's state at the token before it, and predicts the token
after it. Within a draft it goes on with states of its own, since the target has not seen those tokens;
they are forgotten again, and what the target kept is read with the target's states (llama.cpp:
`common_speculative_impl_draft_mtp`, `common_speculative_impl_draft_eagle3`, common/speculative.cpp;
Gloeckle et al. 2024, arXiv 2404.19737; Li et al. 2025, EAGLE-3, arXiv 2503.01840).
"""

import numpy as np

from localspec.batch import Batch
from localspec.engine.backend import Head, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.follower import Follower
from localspec.engine.drafters.trail import State
from localspec.engine.sequence import Sequence


class HeadDrafter:
    """Drafts with a head that has a memory of its own (see `Drafter`).

    Args:
        head: the head's model.
        states: shows the states of the target's last pass.
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
        kind: "mtp" or "eagle3".
        shift: how many positions a token lies before its place in the text: 0, or 1 for EAGLE.
    """

    relative_cost = 0.1
    at_once = False
    reads_states = True

    def __init__(
        self, head: Head, states: States, n_vocab: int, *, kind: str = "mtp", shift: int = 0
    ) -> None:
        self.kind = kind
        self._head = head
        self._blank = np.zeros(states.width, np.float32)
        self._n_vocab = n_vocab
        self._shift = shift
        self._follower = Follower(states, head.memory, self._read_on, lag=1, shift=shift)
        self._own: dict[Draft, State] = {}
        self._ahead: set[int] = set()

    def n_behind(self, sequence: Sequence) -> int:
        """See `Follower`."""
        return self._follower.n_behind(sequence)

    def begin(self, sequence: Sequence) -> None:
        """Keep what the last text in this place has in common with the new one."""
        self._ahead.discard(sequence.seq_id)
        self._follower.begin(sequence)

    def process(self, batch: Batch) -> None:
        """Take the target's states over."""
        self._follower.process(batch)

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """One more proposal for each draft, from one pass (several while catching up)."""
        ready: list[Draft] = []
        while len(ready) < len(drafts):
            batch, states = Batch(), list[State]()
            waiting = [d for d in drafts if d not in ready]
            fed = [d for d in waiting if self._feed(batch, states, d)]
            logits, own = self._head.read(batch, np.array(states))
            for i, d in enumerate(fed):
                d.propose_from(logits[i, : self._n_vocab])
                self._own[d] = own[i].copy()
            ready += fed
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget what was read with states that are not the target's, and states of refused tokens."""
        self._own.clear()
        seq_id = draft.sequence.seq_id
        if seq_id in self._ahead:
            self._ahead.discard(seq_id)
            self._follower.keep(seq_id, self._follower.n_read[seq_id])
        self._follower.accept(draft, n_accepted)

    def end(self, sequence: Sequence) -> None:
        """What is known serves the next text that starts alike."""
        self._follower.end(sequence)

    def _feed(self, batch: Batch, states: list[State], draft: Draft) -> bool:
        """Add what the head must read of one sequence; True if that reaches its end."""
        s = draft.sequence
        if draft.tokens:
            position = len(s.tokens) - 1 + len(draft.tokens)
            batch.add(draft.tokens[-1:], position - self._shift, s.seq_id, 1)
            states.append(self._own[draft])
            self._ahead.add(s.seq_id)
            return True
        first = self._follower.after_a_gap(s.seq_id)
        n = min(len(s.tokens) - first, self._head.n_batch - len(batch))
        complete = first + n == len(s.tokens)
        self._add(batch, states, s.seq_id, s.tokens[first : first + n], int(complete))
        return complete and n > 0

    def _add(
        self, batch: Batch, states: list[State], seq_id: int, tokens: list[int], n_outputs: int
    ) -> None:
        """Read the next tokens of a sequence, each with the target's state before it."""
        trail, first = self._follower.trails[seq_id], self._follower.n_read.get(seq_id, 0)
        end = first + len(tokens)
        # EAGLE has no place for the first token of a text
        skipped = max(self._shift - first, 0)
        tokens, first = tokens[skipped:], first + skipped
        batch.add(tokens, first - self._shift, seq_id, n_outputs)
        before = [trail.at(i - 1) for i in range(first, end)]
        if before:
            # nothing comes before the first token of a text
            shown = [self._blank if state is None else state for state in before]
            states += list(self._head.encode(np.array(shown)))
        self._follower.has_read(seq_id, end)

    def _read_on(self, seq_id: int, n: int) -> None:
        """See `Follower`."""
        trail, first = self._follower.trails[seq_id], self._follower.n_read.get(seq_id, 0)
        tokens = trail.tokens[first - trail.first :][: min(n, self._head.n_batch)]
        batch, states = Batch(), list[State]()
        self._add(batch, states, seq_id, tokens, 0)
        if states:
            self._head.read(batch, np.array(states))
