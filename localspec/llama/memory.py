"""What a context remembers, behind one interface (engine/backend.py: Memory).

Which kind a model has is decided once, before its context is opened (`plan_memory`), since two kinds
want room set aside:

    full attention            removes the tail
    sliding-window attention  removes it too, but says True even when cells of the window are gone, so
                              that is checked
    recurrent and hybrid      have a state without a tail. Some architectures keep the states of the
                              last tokens (llama.cpp's n_rs_seq) and go back to one of them; for the
                              others the state before a draft is kept as a sequence of its own, which
                              copies one cell and nothing through the host
"""

from dataclasses import dataclass
from typing import Protocol

import llama_cpp

from localspec.batch import Batch
from localspec.graphs import KEEPS_LAST_STATES


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What a context must be opened with for its memory to go back.

    Attributes:
        n_swa: width of the sliding window in tokens, 0 for none.
        n_last_states: states of the last tokens that are kept, beside the latest (n_rs_seq).
        copies: the state before a draft is kept in a sequence beside each.
        branches: a sequence beside each is for a branch of its draft.
    """

    n_swa: int = 0
    n_last_states: int = 0
    copies: bool = False
    branches: bool = False

    def n_sequences(self, n_seq_max: int) -> int:
        """Sequences to open the context for, if `n_seq_max` are to be used."""
        return 2 * n_seq_max if self.copies or self.branches else n_seq_max


def plan_memory(
    architecture: str,
    *,
    keeps_state: bool,
    n_swa: int,
    n_draft: int,
    n_seq_max: int = 1,
    copies: bool = False,
    branches: bool = False,
) -> MemoryPlan:
    """How a model can take a draft back.

    Args:
        architecture: of its file.
        keeps_state: it is recurrent or hybrid.
        n_swa: width of its sliding window in tokens, 0 for none.
        n_draft: most tokens of a draft; 0 if there will be none.
        n_seq_max: sequences at once.
        copies: keep a copy of the state even where the architecture keeps the last states, which take
            as much memory as `n_draft` copies.
        branches: drafts may branch, where the memory is a plain cache.
    """
    if not keeps_state or n_draft == 0:
        return MemoryPlan(n_swa, branches=branches and n_swa == 0 < n_draft)
    # Beside a window, going back further than the last pass may need cells that the window has let go of.
    # Beside other sequences states are moved from cell to cell, and the earlier ones are not.
    if architecture in KEEPS_LAST_STATES and n_seq_max == 1 and not (copies or n_swa):
        return MemoryPlan(n_swa, n_last_states=n_draft)
    return MemoryPlan(n_swa, copies=True)


class MemoryKind(Protocol):
    """See `engine.backend.Memory`; told of every pass."""

    def mark(self, seq_id: int) -> None: ...
    def keep(self, seq_id: int, n_past: int) -> int: ...
    def fork(self, source: int, destination: int) -> None: ...
    def drop(self, seq_id: int) -> None: ...
    def passed(self, batch: Batch) -> None: ...


class PlainMemory:
    """A tail can go: full attention.

    A sequence that is none is a ValueError: llama.cpp ends the process over some such ids, and takes a
    negative one for all sequences.

    Args:
        memory: llama.cpp's.
        n_seq_max: sequences in use.
    """

    def __init__(self, memory: object, n_seq_max: int) -> None:
        self._memory = memory
        self._n_seq_max = n_seq_max

    def passed(self, batch: Batch) -> None:
        """Nothing to note."""

    def mark(self, seq_id: int) -> None:
        """Nothing to prepare."""

    def keep(self, seq_id: int, n_past: int) -> int:
        """Cut the tail; if llama.cpp cannot, forget the sequence and have all of it read again."""
        if llama_cpp.llama_memory_seq_rm(self._memory, self._known(seq_id), n_past, -1):
            return 0
        self.drop(seq_id)
        return n_past

    def fork(self, source: int, destination: int) -> None:
        """Share the cells; with a unified cache nothing is copied."""
        self._known(source)
        self.drop(destination)
        self._copy(source, destination)

    def drop(self, seq_id: int) -> None:
        """Forget a sequence whole, which always works."""
        self._forget(self._known(seq_id))

    def _known(self, seq_id: int) -> int:
        if not 0 <= seq_id < self._n_seq_max:
            raise ValueError(f"sequence {seq_id} in a memory of {self._n_seq_max}")
        return seq_id

    def _forget(self, seq_id: int) -> None:
        llama_cpp.llama_memory_seq_rm(self._memory, seq_id, -1, -1)

    def _copy(self, source: int, destination: int) -> None:
        llama_cpp.llama_memory_seq_cp(self._memory, source, destination, -1, -1)

    def _end(self, seq_id: int) -> int:
        """Position after the last token."""
        return int(llama_cpp.llama_memory_seq_pos_max(self._memory, seq_id)) + 1


class WindowMemory(PlainMemory):
    """Sliding-window attention: only the last `n_swa` tokens before the end are sure to be there.

    llama_memory_seq_rm returns True even when the cut would need cells the window has let go of,
    and the logits are then silently wrong; seq_pos_min tells.
    """

    def __init__(self, memory: object, n_seq_max: int, n_swa: int) -> None:
        super().__init__(memory, n_seq_max)
        self._n_swa = n_swa

    def keep(self, seq_id: int, n_past: int) -> int:
        """Cut the tail if the window before it is whole; else have everything read again."""
        again = super().keep(seq_id, n_past)
        if again or n_past == 0:
            return again
        oldest = llama_cpp.llama_memory_seq_pos_min(self._memory, seq_id)
        if 0 <= oldest <= max(0, n_past - self._n_swa):
            return 0
        self.drop(seq_id)
        return n_past


class LastStatesMemory(PlainMemory):
    """Recurrent state, kept for each of the last tokens: of the last pass, that is.

    llama_memory_seq_rm goes back by up to n_rs_seq tokens whatever their pass was, and so to a state that is
    not the sequence's where the last pass was shorter than that. For one sequence only (see `plan_memory`).
    """

    def __init__(self, memory: object, n_seq_max: int) -> None:
        super().__init__(memory, n_seq_max)
        self._start = 0

    def passed(self, batch: Batch) -> None:
        """Note where the pass began."""
        self._start = batch.positions[0]

    def keep(self, seq_id: int, n_past: int) -> int:
        """Go back within the last pass, behind its first token; else have everything read again."""
        if n_past >= self._end(self._known(seq_id)):
            return 0
        if n_past > self._start:
            return super().keep(seq_id, n_past)
        self.drop(seq_id)
        return n_past


class CopiedMemory(PlainMemory):
    """Recurrent state without a tail: the state at a mark stays beside the sequence, as another one.

    Copying is lazy (llama_memory_recurrent::find_slot): a mark shares the cell, and the next pass of
    the sequence writes into another. So there are never more than two cells a sequence.

    Args:
        memory: llama.cpp's.
        n_seq_max: sequences in use; the copies have the ids after theirs.
    """

    def __init__(self, memory: object, n_seq_max: int) -> None:
        super().__init__(memory, n_seq_max)
        self._marks: dict[int, int] = {}

    def mark(self, seq_id: int) -> None:
        """Keep the state as it is now."""
        end = self._end(self._known(seq_id))
        if self._marks.get(seq_id) != end:
            self._forget(self._copy_of(seq_id))
            self._copy(seq_id, self._copy_of(seq_id))
            self._marks[seq_id] = end

    def keep(self, seq_id: int, n_past: int) -> int:
        """Go back to the mark, if it lies within what is to be kept; else to the start."""
        end, mark = self._end(self._known(seq_id)), self._marks.get(seq_id)
        if n_past >= end:
            return 0
        if mark is None or mark > n_past:
            self.drop(seq_id)
            return n_past
        # the copy stays: the next draft begins with the same state
        self._forget(seq_id)
        self._copy(self._copy_of(seq_id), seq_id)
        return n_past - mark

    def drop(self, seq_id: int) -> None:
        """Forget a sequence and its mark."""
        super().drop(seq_id)
        if self._marks.pop(seq_id, None) is not None:
            self._forget(self._copy_of(seq_id))

    def _copy_of(self, seq_id: int) -> int:
        return self._n_seq_max + seq_id


def open_memory(context: object, plan: MemoryPlan, n_seq_max: int) -> MemoryKind:
    """The memory of a context, as its kind needs it.

    Args:
        context: llama_context pointer, opened as `plan` wants it.
        plan: see `plan_memory`.
        n_seq_max: sequences in use.
    """
    memory = llama_cpp.llama_get_memory(context)
    if plan.copies:
        return CopiedMemory(memory, n_seq_max)
    if plan.n_last_states:
        return LastStatesMemory(memory, n_seq_max)
    if plan.n_swa > 0:
        return WindowMemory(memory, n_seq_max, plan.n_swa)
    return PlainMemory(memory, plan.n_sequences(n_seq_max))
