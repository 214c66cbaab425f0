"""A head drafts: a layer or few that read the target's own state (MTP, EAGLE).

A head sees each token together with the target's state at the token before it, and predicts the token
after it. Within a draft it goes on with states of its own, since the target has not seen those tokens;
they are forgotten again, and what the target kept is read with the target's states (llama.cpp:
`common_speculative_impl_draft_mtp`, common/speculative.cpp; Gloeckle et al. 2024, arXiv 2404.19737;
Li et al. 2025, EAGLE-3, arXiv 2503.01840).
"""

import numpy as np

from localspec.batch import Batch
from localspec.engine.backend import Head, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.trail import State, Trails
from localspec.engine.sequence import Sequence, common_prefix

_MOST_WAITING = 512
"""States that may wait for a draft; what is older is read without one."""


class _StateReader:
    """What drafters that read the target's states have in common.

    Args:
        head: the head's model.
        states: shows the states of the target's last pass.
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
        kind: see `Drafter`.
        relative_cost: see `Drafter`.
    """

    def __init__(
        self,
        head: Head,
        states: States,
        n_vocab: int,
        *,
        kind: str = "mtp",
        relative_cost: float = 0.1,
    ) -> None:
        self.kind = kind
        self.relative_cost = relative_cost
        self._head = head
        self._states = states
        self._n_vocab = n_vocab
        self._trails = Trails()
        self._own: dict[Draft, State] = {}

    def process(self, batch: Batch) -> None:
        """The target has run this batch: take its states over."""
        states = self._states.rows(len(batch))
        self._trails.put(batch.tokens, batch.positions, batch.seq_ids, states)

    def _propose(self, batch: Batch, states: list[State], last: dict[Draft, int]) -> None:
        """Run a pass of the head, and propose from the last row of each draft.

        Args:
            batch: the tokens.
            states: one a token.
            last: for each draft its last row in the batch, in the order of its outputs.
        """
        logits, own = self._head.read(batch, np.array(states))
        for (d, i), row in zip(last.items(), logits, strict=True):
            d.propose_from(row[: self._n_vocab])
            self._own[d] = own[i].copy()


class HeadDrafter(_StateReader):
    """Drafts with a head that has a memory of its own.

    Nothing is read before a draft is asked for, so plain rounds cost no pass of the head.

    Args:
        head, states, n_vocab, kind, relative_cost: see `_StateReader`.
        shift: how many positions a token lies before its place in the text: 0, or 1 for EAGLE.
    """

    def __init__(
        self,
        head: Head,
        states: States,
        n_vocab: int,
        *,
        kind: str = "mtp",
        relative_cost: float = 0.1,
        shift: int = 0,
    ) -> None:
        super().__init__(head, states, n_vocab, kind=kind, relative_cost=relative_cost)
        self._shift = shift
        self._n_read: dict[int, int] = {}
        self._texts: dict[int, list[int]] = {}
        self._ahead: set[int] = set()

    def n_behind(self, sequence: Sequence) -> int:
        """What the target has read since the head last drafted, and the token that goes before its draft."""
        return len(sequence.tokens) - self._n_read.get(sequence.seq_id, 0)

    def begin(self, sequence: Sequence) -> None:
        """Keep what the last text in this place has in common with the new one."""
        seq_id = sequence.seq_id
        n = common_prefix(self._texts.get(seq_id, []), sequence.tokens)
        self._trails[seq_id].cut(n)
        self._keep(seq_id, min(n, self._n_read.get(seq_id, 0), len(sequence.tokens) - 1))

    def process(self, batch: Batch) -> None:
        """The target has run this batch: take its states over, and read those that wait too long."""
        super().process(batch)
        for seq_id in set(batch.seq_ids):
            self._catch_up(seq_id, batch.positions[batch.seq_ids.index(seq_id)])

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """One more proposal for each draft, from one pass (several while catching up)."""
        ready: list[Draft] = []
        while len(ready) < len(drafts):
            batch, states, last = Batch(), list[State](), dict[Draft, int]()
            for d in drafts:
                if d not in ready and self._feed(batch, states, d):
                    last[d] = len(batch) - 1
            self._propose(batch, states, last)
            ready += last
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget what was read with states that are not the target's, and states of refused tokens."""
        self._own.clear()
        s = draft.sequence
        if s.seq_id in self._ahead:
            self._keep(s.seq_id, self._n_read[s.seq_id])
        self._trails[s.seq_id].cut(len(s.tokens) - 1)

    def end(self, sequence: Sequence) -> None:
        """What is known serves the next text that starts alike."""
        self._texts[sequence.seq_id] = list(sequence.tokens)

    def _feed(self, batch: Batch, states: list[State], draft: Draft) -> bool:
        """Add what the head must read of one sequence; True if that reaches its end."""
        s = draft.sequence
        if draft.tokens:
            position = len(s.tokens) - 1 + len(draft.tokens)
            batch.add(draft.tokens[-1:], position - self._shift, s.seq_id, 1)
            states.append(self._own[draft])
            self._ahead.add(s.seq_id)
            return True
        first = self._after_a_gap(s.seq_id)
        n = min(len(s.tokens) - first, self._head.n_batch - len(batch))
        complete = first + n == len(s.tokens)
        self._add(batch, states, s.seq_id, s.tokens[first : first + n], int(complete))
        return complete and n > 0

    def _add(
        self, batch: Batch, states: list[State], seq_id: int, tokens: list[int], n_outputs: int
    ) -> None:
        """Read the next tokens of a sequence, each with the target's state before it."""
        trail, first = self._trails[seq_id], self._n_read.get(seq_id, 0)
        self._n_read[seq_id] = first + len(tokens)
        # EAGLE has no place for the first token of a text
        skipped = max(self._shift - first, 0)
        tokens, first = tokens[skipped:], first + skipped
        batch.add(tokens, first - self._shift, seq_id, n_outputs)
        for i in range(first, first + len(tokens)):
            state = trail.at(i - 1)
            # nothing comes before the first token of a text
            states.append(np.zeros(self._states.width, np.float32) if state is None else state)
        trail.forget_before(self._n_read[seq_id] - 1)

    def _after_a_gap(self, seq_id: int) -> int:
        """How much of a sequence has been read; all before a gap, where the states of a part are not
        known, since the target went on from a text that nothing is left of here.

        One missing state is no gap: zeros stand for it, as before the first token.
        """
        trail, first = self._trails[seq_id], self._n_read.get(seq_id, 0)
        if trail.first > first:
            self._head.memory.drop(seq_id)
            self._n_read[seq_id] = first = trail.first + 1
        return first

    def _catch_up(self, seq_id: int, n_sure: int) -> None:
        """Read what waits too long for a draft, as far as the target has kept it.

        Args:
            seq_id: of the sequence.
            n_sure: tokens of it that will not be taken back.
        """
        trail = self._trails[seq_id]
        while (first := self._after_a_gap(seq_id)) < n_sure - _MOST_WAITING:
            n = min(self._head.n_batch, n_sure - first)
            tokens = trail.tokens[first - trail.first :][:n]
            batch, states = Batch(), list[State]()
            self._add(batch, states, seq_id, tokens, 0)
            if states:
                self._head.read(batch, np.array(states))

    def _keep(self, seq_id: int, n: int) -> None:
        """Go back to the first `n` tokens."""
        self._ahead.discard(seq_id)
        again = self._head.memory.keep(seq_id, max(n - self._shift, 0))
        self._n_read[seq_id] = 0 if again else n


class GuestDrafter(_StateReader):
    """Drafts with a head that reads the target's own memory and has none (gemma4-assistant).

    It always drafts from the same position, since nothing it reads is added to that memory. See
    `_StateReader` for its arguments.
    """

    def n_behind(self, sequence: Sequence) -> int:
        """The one token that goes before a draft."""
        return 1

    def begin(self, sequence: Sequence) -> None:
        """Its last prompt token is always read anew, and its state shown."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """One more proposal for each draft, from one pass."""
        batch, states = Batch(), list[State]()
        for d in drafts:
            s = d.sequence
            known = self._own.get(d) if d.tokens else self._trails[s.seq_id].at(len(s.tokens) - 2)
            assert known is not None, "the target has just read the token before the last one"
            batch.add((d.tokens or s.tokens)[-1:], len(s.tokens) - 1, s.seq_id, 1)
            states.append(known)
        self._propose(batch, states, {d: i for i, d in enumerate(drafts)})
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
