"""A model opened for decoding: a batch goes in, rows of logits come out (engine/backend.py: Model)."""

import ctypes
from dataclasses import dataclass, replace
from types import TracebackType
from typing import ClassVar, Self

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.errors import LocalspecError, OutOfResourcesError
from localspec.llama.batch import LlamaBatch
from localspec.llama.library import library
from localspec.llama.memory import MemoryPlan, open_memory, plan_memory
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import NumericsPlan
from localspec.llama.uninterrupted import uninterrupted
from localspec.params import Threads

_HEADS_ALONE = frozenset({"eagle3", "dflash"})
"""Architectures that are nothing but a head; in the others a context is told to run the MTP layers."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is opened.

    Attributes:
        n_ctx: tokens for each sequence.
        n_seq_max: sequences at once.
        n_batch: tokens of a pass; also llama.cpp's micro-batch, so that a pass is never split.
        n_outputs: rows of logits of a pass; sizes the largest compute buffer.
        threads: CPU threads.
        numerics: see `numerics.py`.
        n_draft: most tokens of a draft that may have to be taken back.
        copies: see `memory.plan_memory`.
        branches: see `memory.plan_memory`.
    """

    n_ctx: int
    n_seq_max: int
    n_batch: int
    n_outputs: int
    threads: Threads
    numerics: NumericsPlan
    n_draft: int = 0
    copies: bool = False
    branches: bool = False


class LlamaContext:
    """One context on a model. Close it before its model.

    Args:
        model: whose.
        settings: how it is opened.
        head_of: the target's context, for a head that drafts from its states (see `heads.py`).

    Raises:
        OutOfResourcesError: llama.cpp cannot make a context of this size.
        UnsupportedFileError: `head_of` is given and the model has no MTP layers.
        ValueError: it was loaded without them.
    """

    reads_states: ClassVar = False
    """True where each token comes with a state."""

    def __init__(
        self, model: LlamaModel, settings: ContextSettings, head_of: "LlamaContext | None" = None
    ) -> None:
        if head_of is not None and model.architecture not in _HEADS_ALONE:
            model.require_mtp()
        keeps_state = model.keeps_state and head_of is None
        memory = plan_memory(
            model.architecture,
            keeps_state=keeps_state,
            n_swa=model.n_swa,
            # llama.cpp wants the states that are kept, and the one before them, within a micro-batch
            n_draft=min(settings.n_draft, settings.n_batch - 2, settings.n_ctx - 2),
            n_seq_max=settings.n_seq_max,
            copies=settings.copies,
            branches=settings.branches and head_of is None,
        )
        params = _context_params(settings, memory, head_of, model.architecture)
        self.handle: llama_cpp.llama_context_p | None = _opened(model, params, settings.n_ctx)
        if llama_cpp.llama_n_rs_seq(self.handle) < memory.n_last_states:
            # another llama.cpp, which keeps no states for this architecture and says so only here
            llama_cpp.llama_free(self.handle)
            memory = replace(memory, n_last_states=0, copies=True)
            params = _context_params(settings, memory, head_of, model.architecture)
            self.handle = _opened(model, params, settings.n_ctx)
        self.n_vocab = model.vocab.n_tokens
        self.n_embd, self.n_layers = model.n_embd, model.n_layers
        self.n_embd_out = model.n_embd_out
        self.architecture = model.architecture
        self.n_ctx = settings.n_ctx
        self.n_batch = min(settings.n_batch, int(llama_cpp.llama_n_batch(self.handle)))
        self.n_seq_max = settings.n_seq_max
        self.branches = memory.branches
        self._n_ids = memory.n_sequences(settings.n_seq_max) if memory.branches else self.n_seq_max
        self.n_outputs_max = int(params.n_outputs_max)
        self.memory = open_memory(self.handle, memory, settings.n_seq_max)
        self._jumps = model.jumps and head_of is None
        self._batch = LlamaBatch(self.n_batch)
        self._rows, self._address = np.empty((0, self.n_vocab), np.float32), 0
        # A filled-up pass is cut back after it, which recurrent state cannot be.
        self._min_rows = 1 if keeps_state or head_of is not None else settings.numerics.min_rows

    def decode(
        self, batch: Batch, states: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Run one pass; see `engine.backend.Model.decode`.

        Args:
            batch: the tokens.
            states: of a head, one a token, shape (len(batch), width).

        Raises:
            ValueError: the pass is one that llama.cpp would abort over or run wrongly without a word.
            OutOfResourcesError: the cache has no room for these tokens.
            LocalspecError: llama.cpp failed; the message carries its own reason.
        """
        self._check(batch, states)
        n_outputs = sum(batch.outputs)
        if len(batch) < self._min_rows:
            return self._decode_filled(batch)
        if n_outputs > self.n_outputs_max:
            raise ValueError(f"{n_outputs} output rows in a pass of at most {self.n_outputs_max}")
        lib = library()
        lib.forget_log()
        code = llama_cpp.llama_decode(self.handle, self._batch.fill(batch, states))
        if code == 1:
            raise OutOfResourcesError("the context is full", "try a larger --ctx")
        if code != 0:
            raise LocalspecError(f"llama.cpp could not run a pass (code {code}): {lib.reason()}")
        self.memory.passed(batch)
        if n_outputs == 0:
            return np.empty((0, self.n_vocab), np.float32)
        # Reading logits waits for the device, so a clock read after this call is right on GPUs too.
        address = ctypes.addressof(llama_cpp.llama_get_logits(self.handle).contents)
        return self._rows_at(address, n_outputs)

    def _check(self, batch: Batch, states: NDArray[np.float32] | None) -> None:
        """Refuse what llama.cpp would not survive or not notice; what it refuses itself is left to it.

        Raises:
            ValueError: see above.
        """
        if self.handle is None:
            raise ValueError("a pass of a context that is closed")
        if not batch.tokens:
            raise ValueError("a pass without tokens")
        # without a bound of ours, the copies in `CopiedMemory` would pass for sequences
        if min(batch.seq_ids) < 0 or max(batch.seq_ids) >= self._n_ids:
            raise ValueError(f"a sequence that is none of {self.n_seq_max}: {batch.seq_ids}")
        # beside states, -1 would stand for no token at all
        if min(batch.tokens) < 0:
            raise ValueError(f"a token that is none: {min(batch.tokens)}")
        if (states is not None) != self.reads_states:
            raise ValueError("states go with the tokens of a head, and with no others")
        if states is not None and states.shape != (len(batch), self.n_embd_out):
            raise ValueError(
                f"states of shape {states.shape} for {len(batch)} tokens of width {self.n_embd_out}"
            )
        if self._jumps:
            self._check_positions(batch)

    def _check_positions(self, batch: Batch) -> None:
        memory, ends = llama_cpp.llama_get_memory(self.handle), dict[int, int]()
        for seq_id, position in zip(batch.seq_ids, batch.positions, strict=True):
            if seq_id not in ends:
                ends[seq_id] = llama_cpp.llama_memory_seq_pos_max(memory, seq_id) + 1
            if position != ends[seq_id]:
                raise ValueError(f"position {position} after {ends[seq_id]} tokens of a sequence")
            ends[seq_id] = position + 1

    def _rows_at(self, address: int, n_outputs: int) -> NDArray[np.float32]:
        """llama.cpp's own rows as an array; the view is kept, since the buffer moves only when it grows."""
        if address != self._address or n_outputs > len(self._rows):
            buffer = (ctypes.c_float * (n_outputs * self.n_vocab)).from_address(address)
            self._rows = np.ctypeslib.as_array(buffer).reshape(n_outputs, self.n_vocab)
            self._address = address
        return self._rows[:n_outputs]

    def _decode_filled(self, batch: Batch) -> NDArray[np.float32]:
        """Run a pass of one row together with a token that is forgotten again.

        Exact mode wants it for float weights, see `numerics.py`.
        """
        seq_id, position = batch.seq_ids[-1], batch.positions[-1] + 1
        filled = replace(batch, tokens=batch.tokens * 2, positions=[*batch.positions, position])
        # The second token wants logits if the first does: rows without are cropped before the end.
        filled.seq_ids, filled.outputs = batch.seq_ids * 2, batch.outputs * 2
        rows = self.decode(filled)
        self.memory.keep(seq_id, position)
        return rows[: sum(batch.outputs)]

    def use_threads(self, threads: Threads) -> None:
        """Have other passes run by other numbers of CPU threads from now on (llama_set_n_threads)."""
        llama_cpp.llama_set_n_threads(self.handle, threads.decode, threads.verify)

    def close(self) -> None:
        """Free the context and its buffers."""
        if self.handle:
            self._batch.close()
            llama_cpp.llama_free(self.handle)
            self.handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _opened(
    model: LlamaModel, params: llama_cpp.llama_context_params, n_ctx: int
) -> llama_cpp.llama_context_p:
    """A new context.

    Raises:
        OutOfResourcesError: llama.cpp cannot make one of this size.
    """
    lib = library()
    lib.forget_log()
    with uninterrupted() as key:
        handle = llama_cpp.llama_init_from_model(model.handle, params)
        if key.requested and handle:
            llama_cpp.llama_free(handle)
    if not handle:
        raise OutOfResourcesError(
            f"no room for a context of {n_ctx} tokens: {lib.reason()}",
            "try a smaller --ctx",
        )
    return handle


def _context_params(
    settings: ContextSettings,
    memory: MemoryPlan,
    head_of: LlamaContext | None,
    architecture: str,
) -> llama_cpp.llama_context_params:
    params = llama_cpp.llama_context_default_params()
    # A little more than is used, for the token that fills a pass up (_decode_filled), and for branches.
    spare = 2 if memory.branches else 1
    params.n_ctx = (settings.n_ctx + spare) * settings.n_seq_max
    params.n_batch = params.n_ubatch = settings.n_batch
    params.n_seq_max = memory.n_sequences(settings.n_seq_max)
    params.n_rs_seq = memory.n_last_states
    # never fewer rows than llama.cpp insists on or exact mode fills up
    params.n_outputs_max = max(settings.n_outputs, params.n_seq_max, settings.numerics.min_rows)
    params.n_threads = settings.threads.decode
    params.n_threads_batch = settings.threads.verify
    params.type_k = settings.numerics.type_k
    params.type_v = settings.numerics.type_v
    params.flash_attn_type = settings.numerics.flash_attn
    params.swa_full = False
    # One pool of cells for all sequences: a ragged pass stays one pass (with a pool per sequence
    # llama.cpp splits it into equal lengths and runs several).
    params.kv_unified = True
    if head_of is not None:
        if architecture not in _HEADS_ALONE:
            params.ctx_type = llama_cpp.LLAMA_CONTEXT_TYPE_MTP
        params.ctx_other = llama_cpp.llama_context_p(head_of.handle or 0)
    return params
