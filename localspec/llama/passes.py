"""What a pass of so many rows costs on this machine, timed on a text made of chance tokens."""

import random
from time import perf_counter

import numpy as np

from localspec.batch import Batch
from localspec.llama.context import LlamaContext
from localspec.params import Threads

_SEQUENCE = 0


class TimedPasses:
    """Times passes that follow the same text, each forgotten again.

    The tokens are chance ones, since a mixture of experts takes more time for unlike ones.

    Args:
        context: nothing in its memory is kept.
        n_cells: tokens of text before each pass.
        width: of the states that come with the tokens of a head; None for a model.
    """

    def __init__(self, context: LlamaContext, n_cells: int, width: int | None = None) -> None:
        self._context = context
        self._width = width
        self._random = random.Random(0)
        self.n_cells = n_cells
        self._read()

    def seconds(self, n_rows: int, threads: Threads, n_outputs: int | None = None) -> float:
        """One pass of `n_rows` tokens, with logits for the last `n_outputs` of them (all of them)."""
        self._context.use_threads(threads)
        batch = self._batch(n_rows, self.n_cells, n_rows if n_outputs is None else n_outputs)
        self._context.memory.mark(_SEQUENCE)
        started = perf_counter()
        self._decode(batch)
        seconds = perf_counter() - started
        if self._context.memory.keep(_SEQUENCE, self.n_cells):
            # it could only be forgotten together with the text
            self._read()
        return seconds

    def close(self) -> None:
        """Leave the memory empty."""
        self._context.memory.drop(_SEQUENCE)

    def _read(self) -> None:
        self.close()
        for start in range(0, self.n_cells, self._context.n_batch):
            n = min(self._context.n_batch, self.n_cells - start)
            self._decode(self._batch(n, start, 0))

    def _decode(self, batch: Batch) -> None:
        states = None if self._width is None else np.zeros((len(batch), self._width), np.float32)
        self._context.decode(batch, states)

    def _batch(self, n: int, position: int, n_outputs: int) -> Batch:
        batch = Batch()
        tokens = [self._random.randrange(self._context.n_vocab) for _ in range(n)]
        batch.add(tokens, position, _SEQUENCE, n_outputs)
        return batch
