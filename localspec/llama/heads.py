"""Heads and the states they read: llama.cpp's staging interface (llama-ext.h).

A target is told to show its states (`NextnStates`). A head is a context like any other, in which each token
comes with a state (`HeadContext`).
"""

import ctypes

import numpy as np
from llama_cpp import llama_cpp_ext
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.model import LlamaModel


class NextnStates:
    """The states after the last layer of a target, for MTP heads (engine/backend.py: States).

    Only for architectures that have the output: others give rows of zeros without a word.

    Args:
        target: shows its states from now on.
    """

    def __init__(self, target: LlamaContext) -> None:
        self._handle = target.handle
        self.width = target.n_embd_out
        # unmasked: a row for every token, outputs or not
        llama_cpp_ext.llama_set_embeddings_nextn(self._handle, True, False)

    def rows(self, n_tokens: int) -> NDArray[np.float32]:
        """See `engine.backend.States.rows`."""
        return nextn_rows(self._handle, n_tokens, self.width)


class HeadContext(LlamaContext):
    """A head beside a target (engine/backend.py: Head). Close it before the target's context.

    Args:
        model: the model that holds the head, loaded with `load_mtp` where it holds more.
        settings: as for the target.
        target: its context, whose memory and tensors a head may use.
    """

    def __init__(self, model: LlamaModel, settings: ContextSettings, target: LlamaContext) -> None:
        super().__init__(model, settings, head_of=target)
        llama_cpp_ext.llama_set_embeddings_nextn(self.handle, True, False)
        self.shares_memory = bool(llama_cpp_ext.llama_get_ctx_other(self.handle))

    def read(
        self, batch: Batch, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See `engine.backend.Head.read`."""
        logits = self.decode(batch, states)
        return logits, nextn_rows(self.handle, len(batch), self.n_embd_out)


def nextn_rows(handle: object, n_tokens: int, width: int) -> NDArray[np.float32]:
    """The nextn output of a context's last pass (llama_get_embeddings_nextn).

    Args:
        handle: llama_context pointer of a context that was told to give it out.
        n_tokens: of that pass.
        width: of a state.

    Returns:
        Shape (n_tokens, width): a view that the next pass overwrites.
    """
    address = ctypes.addressof(llama_cpp_ext.llama_get_embeddings_nextn(handle).contents)
    buffer = (ctypes.c_float * (n_tokens * width)).from_address(address)
    return np.ctypeslib.as_array(buffer).reshape(n_tokens, width)
