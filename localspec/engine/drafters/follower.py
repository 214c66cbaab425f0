"""What drafters that read the target's states have in common: a memory that follows the target's.

States wait in a trail until a draft is asked for, so plain rounds cost no pass of the head.
"""

from collections.abc import Callable

from localspec.batch import Batch
from localspec.engine.backend import Memory, States
from localspec.engine.drafters.base import Draft
from localspec.engine.drafters.trail import Trails
from localspec.engine.sequence import Sequence, common_prefix

_MOST_WAITING = 512
"""States that may wait for a draft; what is older is read without one."""


class Follower:
    """How far a head's memory has come in each sequence, and how it gets on.

    Args:
        states: shows the states of the target's last pass.
        memory: the head's.
        read_on: has the head read so many more tokens of a sequence from the states that wait.
        lag: how many positions before a token the state lies that it is read with: 1, or 0.
        shift: how many positions a token lies before its place in the text: 0, or 1 for EAGLE.

    Attributes:
        trails: the states that wait, and the one before them.
        n_read: tokens of each sequence that the head has read.
    """

    def __init__(
        self,
        states: States,
        memory: Memory,
        read_on: Callable[[int, int], None],
        *,
        lag: int,
        shift: int = 0,
    ) -> None:
        self.trails = Trails()
        self.n_read: dict[int, int] = {}
        self._states = states
        self._memory = memory
        self._read_on = read_on
        self._lag = lag
        self._shift = shift
        self._texts: dict[int, list[int]] = {}
        self._n_new: dict[int, int] = {}

    def n_behind(self, sequence: Sequence) -> int:
        """Tokens to be read before a draft, but for those of the last round, which any draft begins with."""
        seq_id = sequence.seq_id
        waiting = len(sequence.tokens) - self.n_read.get(seq_id, 0)
        return max(waiting - self._n_new.get(seq_id, 1) + 1, 1)

    def begin(self, sequence: Sequence) -> None:
        """Keep what the last text in this place has in common with the new one."""
        seq_id = sequence.seq_id
        n = common_prefix(self._texts.get(seq_id, []), sequence.tokens)
        self.trails[seq_id].cut(n)
        self.keep(seq_id, min(n, self.n_read.get(seq_id, 0), len(sequence.tokens) - 1))

    def process(self, batch: Batch) -> None:
        """The target has run this batch: take its states over, and read those that wait too long."""
        states = self._states.rows(len(batch))
        self.trails.put(batch.tokens, batch.positions, batch.seq_ids, states)
        for seq_id in set(batch.seq_ids):
            n_sure = batch.positions[batch.seq_ids.index(seq_id)]
            while (first := self.after_a_gap(seq_id)) < n_sure - _MOST_WAITING:
                self._read_on(seq_id, n_sure - first)

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget the states of refused tokens."""
        s = draft.sequence
        self._n_new[s.seq_id] = n_accepted + 1
        self.trails[s.seq_id].cut(len(s.tokens) - 1)

    def end(self, sequence: Sequence) -> None:
        """What is known serves the next text that starts alike."""
        self._texts[sequence.seq_id] = list(sequence.tokens)

    def keep(self, seq_id: int, n: int) -> None:
        """Go back to the first `n` tokens."""
        again = self._memory.keep(seq_id, max(n - self._shift, 0))
        self.n_read[seq_id] = 0 if again else n

    def after_a_gap(self, seq_id: int) -> int:
        """How much of a sequence has been read; all before a gap, where the states of a part are not
        known, since the target went on from a text that nothing is left of here.

        One state that is missing before the first is no gap: zeros stand for it, as at the start of a text.
        """
        trail, first = self.trails[seq_id], self.n_read.get(seq_id, 0)
        if trail.first > first:
            self._memory.drop(seq_id)
            self.n_read[seq_id] = first = trail.first + self._lag
        return first

    def has_read(self, seq_id: int, n: int) -> None:
        """The head has read the first `n` tokens; states that were needed for those alone can go."""
        self.n_read[seq_id] = n
        self.trails[seq_id].forget_before(n - self._lag)
