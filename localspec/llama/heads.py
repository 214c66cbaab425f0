"""Heads and the states they read: llama.cpp's staging interface (llama-ext.h).

A target is told to show its states (`NextnStates`, `LayerStates`). A head is a context like any other, in
which each token comes with a state (`HeadContext`, `EagleContext`).
"""

import ctypes

import llama_cpp
import numpy as np
from llama_cpp import llama_cpp_ext
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.graphs import SHOWS_LAST_STATE, SHOWS_LAYERS, SHOWS_OUTPUTS_ONLY
from localspec.llama.batch import StatesBatch
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.extension import layer_states, show_layer, target_layers
from localspec.llama.library import library
from localspec.llama.model import LlamaModel


class NextnStates:
    """The states after the last layer of a target, for MTP heads (engine/backend.py: States).

    Args:
        target: shows its states from now on.

    Raises:
        UnsupportedFileError: its architecture has no such output (llama.cpp would give zeros without a word).
    """

    def __init__(self, target: LlamaContext) -> None:
        if target.architecture not in SHOWS_LAST_STATE:
            raise _not_shown(target)
        self._handle = target.handle
        self._n_batch = target.n_batch
        self.width = target.n_embd_out
        # unmasked: a row for every token, outputs or not
        llama_cpp_ext.llama_set_embeddings_nextn(self._handle, True, False)

    def rows(self, n_tokens: int) -> NDArray[np.float32]:
        """See `engine.backend.States.rows`.

        Raises:
            ValueError: more rows than a pass can have, or there was none yet.
        """
        if n_tokens > self._n_batch:
            raise ValueError(f"{n_tokens} states of a pass of at most {self._n_batch}")
        return nextn_rows(self._handle, n_tokens, self.width)


class LayerStates:
    """The states that enter some layers of a target, side by side (engine/backend.py: States).

    Args:
        target: shows its states from now on.
        layers: which; the number of all layers stands for what leaves the last one.

    Raises:
        UnsupportedFileError: the architecture's graph does not have them (llama.cpp would end the process), or
            this build of llama.cpp cannot show them.
        ValueError: there is no such layer.
    """

    def __init__(self, target: LlamaContext, layers: list[int]) -> None:
        if target.architecture not in SHOWS_LAYERS:
            raise _not_shown(target)
        self._handle = target.handle
        self._n_batch = target.n_batch
        self._n_embd = target.n_embd
        self._layers = layers
        self._n_layers = target.n_layers
        self.width = len(layers) * target.n_embd
        for layer in layers:
            self._show(target, layer)

    def rows(self, n_tokens: int) -> NDArray[np.float32]:
        """See `engine.backend.States.rows`; a copy, of a pass after this was made.

        Raises:
            ValueError: more rows than a pass can have.
        """
        if n_tokens > self._n_batch:
            raise ValueError(f"{n_tokens} states of a pass of at most {self._n_batch}")
        return np.concatenate([self._rows_of(layer, n_tokens) for layer in self._layers], axis=1)

    def _show(self, target: LlamaContext, layer: int) -> None:
        if not 0 <= layer <= self._n_layers:
            raise ValueError(f"layer {layer} of a model of {self._n_layers}")
        if layer < self._n_layers:
            show_layer(self._handle, layer)
        elif target.architecture in SHOWS_LAST_STATE:
            llama_cpp_ext.llama_set_embeddings_nextn(self._handle, True, False)
        else:
            raise _not_shown(target)

    def _rows_of(self, layer: int, n_tokens: int) -> NDArray[np.float32]:
        if layer == self._n_layers:
            return nextn_rows(self._handle, n_tokens, self._n_embd)
        return float_rows(layer_states(self._handle, layer), n_tokens, self._n_embd)


class HeadContext(LlamaContext):
    """A head beside a target (engine/backend.py: Head). Close it before the target's context.

    Args:
        model: the model that holds the head, loaded with `load_mtp` where it holds more.
        settings: as for the target.
        target: its context, whose memory and tensors a head may use.

    Attributes:
        n_heads: MTP layers, one for each place of a draft where there are several.
        shares_memory: it reads the target's memory and has none of its own.
    """

    reads_states = True

    def __init__(self, model: LlamaModel, settings: ContextSettings, target: LlamaContext) -> None:
        super().__init__(model, settings, head_of=target)
        self.n_heads = max(1, int(llama_cpp.llama_model_n_layer_nextn(model.handle)))
        self._masked = model.architecture in SHOWS_OUTPUTS_ONLY
        llama_cpp_ext.llama_set_embeddings_nextn(self.handle, True, self._masked)
        self.shares_memory = bool(llama_cpp_ext.llama_get_ctx_other(self.handle))

    def use(self, i: int) -> None:
        """See `engine.backend.ChainedHead.use`."""
        llama_cpp_ext.llama_set_nextn_layer_offset(self.handle, i)

    def encode(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """See `engine.backend.Head.encode`: an MTP head reads them as they are."""
        return states

    def read(
        self, batch: Batch, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See `engine.backend.Head.read`."""
        logits = self.decode(batch, states)
        if self._masked or len(logits) == len(batch):
            return logits, nextn_rows(self.handle, len(logits), self.n_embd_out)
        rows = nextn_rows(self.handle, len(batch), self.n_embd_out)
        return logits, rows[np.array(batch.outputs)]


class EagleContext(HeadContext):
    """An EAGLE-3 head, with an encoder before it that fuses the states of three layers.

    Attributes:
        layers: of the target, whose states it reads.
    """

    def __init__(self, model: LlamaModel, settings: ContextSettings, target: LlamaContext) -> None:
        super().__init__(model, settings, target)
        self.layers = target_layers(model.handle)
        self._states_batch = StatesBatch(self.n_batch, len(self.layers) * target.n_embd)

    def encode(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """See `engine.backend.Head.encode`.

        Raises:
            LocalspecError: llama.cpp failed; the message carries its own reason.
        """
        parts = [
            self._encoded(states[start : start + self.n_batch])
            for start in range(0, len(states), self.n_batch)
        ]
        return np.concatenate(parts)

    def read(
        self, batch: Batch, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See `engine.backend.Head.read`.

        Its graph leaves no row out before the logits, which are then taken from the first rows whichever
        were asked for. So rows with and without outputs go apart.
        """
        asked = np.array(batch.outputs)
        if not asked.all() and asked.any():
            self.decode(_rows_of(batch, ~asked), states[~asked])
            batch, states = _rows_of(batch, asked), states[asked]
        return super().read(batch, states)

    def close(self) -> None:
        """Free the context and its buffers."""
        if self.handle:
            self._states_batch.close()
        super().close()

    def _encoded(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        n = len(states)
        # the encoder looks at each state alone, but llama.cpp wants positions that go on
        end = llama_cpp.llama_memory_seq_pos_max(llama_cpp.llama_get_memory(self.handle), 0) + 1
        batch = self._states_batch.fill(list(range(end, end + n)), [0] * n, states, outputs=True)
        lib = library()
        lib.forget_log()
        code = llama_cpp.llama_encode(self.handle, batch)
        if code != 0:
            raise LocalspecError(f"llama.cpp could not run a pass (code {code}): {lib.reason()}")
        return nextn_rows(self.handle, n, self.n_embd_out).copy()


def _rows_of(batch: Batch, mask: NDArray[np.bool_]) -> Batch:
    rows = [int(i) for i in np.flatnonzero(mask)]
    return Batch(
        [batch.tokens[i] for i in rows],
        [batch.positions[i] for i in rows],
        [batch.seq_ids[i] for i in rows],
        [batch.outputs[i] for i in rows],
    )


def _not_shown(target: LlamaContext) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"llama.cpp does not give out the states of {target.architecture} models,"
        " which the drafter reads.",
        "Draft without it: -d lookup",
    )


def nextn_rows(handle: object, n_tokens: int, width: int) -> NDArray[np.float32]:
    """The nextn output of a context's last pass (llama_get_embeddings_nextn).

    Args:
        handle: llama_context pointer of a context that was told to give it out.
        n_tokens: of that pass.
        width: of a state.

    Returns:
        Shape (n_tokens, width): a view that the next pass overwrites.
    """
    if n_tokens == 0:
        return np.empty((0, width), np.float32)
    address = ctypes.addressof(llama_cpp_ext.llama_get_embeddings_nextn(handle).contents)
    return float_rows(address, n_tokens, width)


def float_rows(address: int, n_tokens: int, width: int) -> NDArray[np.float32]:
    """llama.cpp's floats at an address as an array, shape (n_tokens, width)."""
    buffer = (ctypes.c_float * (n_tokens * width)).from_address(address)
    return np.ctypeslib.as_array(buffer).reshape(n_tokens, width)
