"""A llama_batch that is filled from plain lists."""

import ctypes

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from localspec.batch import Batch

_FLOATS = ctypes.POINTER(ctypes.c_float)
_INTS = ctypes.POINTER(ctypes.c_int32)


class LlamaBatch:
    """Buffers for up to `capacity` tokens, each in one sequence or two.

    Filled item by item: a round's few tokens cost less so than through numpy, whose code is out of
    the processor's cache after every pass.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._batch = llama_cpp.llama_batch_init(capacity, 0, 2)
        self._in_two: list[int] = []
        self._states: NDArray[np.float32] | None = None
        self._tokens = self._batch.token
        self._positions = self._batch.pos
        self._outputs = self._batch.logits
        # Each token's list of sequences is an array of its own in the C structure.
        self._seq_ids = [self._batch.seq_id[i] for i in range(capacity)]
        for i in range(capacity):
            self._batch.n_seq_id[i] = 1

    def fill(
        self, batch: Batch, states: NDArray[np.float32] | None = None
    ) -> llama_cpp.llama_batch:
        """The C structure holding `batch`; valid until the next call.

        Args:
            batch: the tokens.
            states: one a token, shape (len(batch), width), for a head.

        Raises:
            ValueError: more tokens than the capacity (llama.cpp would abort the process).
        """
        n = len(batch)
        if n > self.capacity:
            raise ValueError(f"{n} tokens in a pass of at most {self.capacity}")
        for i in range(n):
            self._tokens[i] = batch.tokens[i]
            self._positions[i] = batch.positions[i]
            self._outputs[i] = batch.outputs[i]
            self._seq_ids[i][0] = batch.seq_ids[i]
        for i in self._in_two:
            self._batch.n_seq_id[i] = 1
        for i, seq_id in batch.shared.items():
            self._seq_ids[i][1] = seq_id
            self._batch.n_seq_id[i] = 2
        self._in_two = list(batch.shared)
        self._batch.n_tokens = n
        # kept, since the structure holds no more than its address
        self._states = None if states is None else np.ascontiguousarray(states, np.float32)
        self._batch.embd = None if self._states is None else self._states.ctypes.data_as(_FLOATS)
        return self._batch

    def close(self) -> None:
        """Free the C buffers."""
        if self._batch is not None:
            # what it points to is numpy's
            self._batch.embd = None
            llama_cpp.llama_batch_free(self._batch)
            self._batch = None


class StatesBatch:
    """The same with states in place of tokens, which are what an encoder reads.

    Args:
        capacity: most states of a pass.
        width: of a state.
    """

    _N_SECTIONS = 4  # positions of a state where rotary positions come in sections (M-RoPE)

    def __init__(self, capacity: int, width: int) -> None:
        self._capacity, self._width = capacity, width
        self._batch = llama_cpp.llama_batch_init(capacity, 1, 1)
        # as numbers: what is read from a structure's pointer changes with it
        self._own_states = ctypes.cast(self._batch.embd, ctypes.c_void_p).value or 0
        self._own_positions = ctypes.cast(self._batch.pos, ctypes.c_void_p).value or 0
        self._positions = np.zeros(self._N_SECTIONS * capacity, np.int32)
        self._states = np.empty((0, 0), np.float32)
        self._batch.pos = self._positions.ctypes.data_as(_INTS)
        for i in range(capacity):
            self._batch.n_seq_id[i] = 1

    def fill(
        self,
        positions: list[int],
        seq_ids: list[int],
        states: NDArray[np.float32],
        *,
        outputs: bool,
    ) -> llama_cpp.llama_batch:
        """The C structure holding the states; valid until the next call.

        Args:
            positions: one a state.
            seq_ids: one a state.
            states: shape (n, width).
            outputs: all of them are wanted back.

        Raises:
            ValueError: more states than the capacity (llama.cpp would abort the process), or others than the
                positions say.
        """
        n = len(positions)
        if states.shape != (n, self._width):
            raise ValueError(f"states of shape {states.shape} for {n} of width {self._width}")
        if n > self._capacity:
            raise ValueError(f"{n} states in a pass of at most {self._capacity}")
        # time, height and width of a text are its positions; the fourth section is not used
        self._positions[: 3 * n] = np.tile(np.array(positions, np.int32), 3)
        self._positions[3 * n : 4 * n] = 0
        for i in range(n):
            self._batch.seq_id[i][0] = seq_ids[i]
            self._batch.logits[i] = outputs
        self._batch.n_tokens = n
        # kept, since the structure holds no more than its address
        self._states = np.ascontiguousarray(states, np.float32)
        self._batch.embd = self._states.ctypes.data_as(_FLOATS)
        return self._batch

    def close(self) -> None:
        """Free the C buffers."""
        if self._batch is not None:
            self._batch.embd = ctypes.cast(self._own_states, _FLOATS)
            self._batch.pos = ctypes.cast(self._own_positions, _INTS)
            llama_cpp.llama_batch_free(self._batch)
            self._batch = None
