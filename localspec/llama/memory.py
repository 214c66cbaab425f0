"""What a context remembers, behind one interface (engine/backend.py: Memory).

Which kind a model has is found once, at opening. Plain attention removes the tail. Sliding-window
attention removes it too, but says True even when the cells of the window are gone, so that is
checked. Recurrent state has no tail to cut: going back means reading again.
"""

from typing import Protocol

import llama_cpp


class MemoryKind(Protocol):
    """See `engine.backend.Memory`."""

    def mark(self, seq_id: int) -> None: ...
    def keep(self, seq_id: int, n_past: int) -> int: ...
    def fork(self, source: int, destination: int) -> None: ...
    def drop(self, seq_id: int) -> None: ...


class PlainMemory:
    """Full attention: every cell of the past is there, and any tail can go."""

    def __init__(self, memory: object) -> None:
        self._memory = memory

    def mark(self, seq_id: int) -> None:
        """Nothing to prepare."""

    def keep(self, seq_id: int, n_past: int) -> int:
        """Cut the tail; if llama.cpp cannot, forget the sequence and have all of it read again."""
        if llama_cpp.llama_memory_seq_rm(self._memory, seq_id, n_past, -1):
            return 0
        self.drop(seq_id)
        return n_past

    def fork(self, source: int, destination: int) -> None:
        """Share the cells; with a unified cache nothing is copied."""
        self.drop(destination)
        llama_cpp.llama_memory_seq_cp(self._memory, source, destination, -1, -1)

    def drop(self, seq_id: int) -> None:
        """Forget a sequence whole, which always works."""
        llama_cpp.llama_memory_seq_rm(self._memory, seq_id, -1, -1)


class WindowMemory(PlainMemory):
    """Sliding-window attention: only the last `n_swa` tokens before the end are sure to be there.

    llama_memory_seq_rm returns True even when the cut would need cells the window has let go of,
    and the logits are then silently wrong; seq_pos_min tells.
    """

    def __init__(self, memory: object, n_swa: int) -> None:
        super().__init__(memory)
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


def open_memory(context: object, n_swa: int) -> MemoryKind:
    """The memory of a context, as its kind needs it.

    Args:
        context: llama_context pointer.
        n_swa: width of the sliding window in tokens, 0 for none.
    """
    memory = llama_cpp.llama_get_memory(context)
    return WindowMemory(memory, n_swa) if n_swa > 0 else PlainMemory(memory)
