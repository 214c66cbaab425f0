"""A llama_batch that is filled from plain lists."""

import llama_cpp
import numpy as np

from localspec.batch import Batch


class LlamaBatch:
    """Buffers for up to `capacity` tokens, each in one sequence.

    The arrays of the C structure are seen through numpy, so filling a pass costs microseconds.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._batch = llama_cpp.llama_batch_init(capacity, 0, 1)
        as_array = np.ctypeslib.as_array
        self._tokens = as_array(self._batch.token, (capacity,))
        self._positions = as_array(self._batch.pos, (capacity,))
        self._outputs = as_array(self._batch.logits, (capacity,))
        as_array(self._batch.n_seq_id, (capacity,))[:] = 1
        # Each token's list of sequences is an array of its own in the C structure.
        self._seq_ids = [self._batch.seq_id[i] for i in range(capacity)]

    def fill(self, batch: Batch) -> llama_cpp.llama_batch:
        """The C structure holding `batch`; valid until the next call.

        Raises:
            ValueError: more tokens than the capacity (llama.cpp would abort the process).
        """
        n = len(batch)
        if n > self.capacity:
            raise ValueError(f"{n} tokens in a pass of at most {self.capacity}")
        self._tokens[:n] = batch.tokens
        self._positions[:n] = batch.positions
        self._outputs[:n] = batch.outputs
        for place, seq_id in zip(self._seq_ids, batch.seq_ids, strict=False):
            place[0] = seq_id
        self._batch.n_tokens = n
        return self._batch

    def close(self) -> None:
        """Free the C buffers."""
        if self._batch is not None:
            llama_cpp.llama_batch_free(self._batch)
            self._batch = None
