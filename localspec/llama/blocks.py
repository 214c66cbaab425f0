"""Drafters that fill in blocks of masks: DFlash, DFlash2 and DSpark (engine/backend.py: BlockHead)."""

from collections.abc import Collection
from typing import Final

import llama_cpp
import numpy as np
from llama_cpp import llama_cpp_ext
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.errors import LocalspecError
from localspec.llama.batch import StatesBatch
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.extension import selector_top_k, target_layers
from localspec.llama.heads import nextn_rows
from localspec.llama.library import library
from localspec.llama.model import LlamaModel

_DEFAULT_BLOCK: Final = 16


class BlockContext(LlamaContext):
    """A block drafter beside a target. Close it before the target's context.

    Args:
        model: the drafter's model.
        settings: as for the target.
        target: its context, whose embedding and output it may borrow.
        tensors: names of all tensors in the drafter's file, which tell what it can do.

    Attributes:
        layers: of the target, whose states it reads.
    """

    def __init__(
        self,
        model: LlamaModel,
        settings: ContextSettings,
        target: LlamaContext,
        tensors: Collection[str],
    ) -> None:
        super().__init__(model, settings, head_of=target)
        self.layers = target_layers(model.handle)
        self.mask = model.vocab.mask
        self._states_batch = StatesBatch(self.n_batch, len(self.layers) * target.n_embd)
        self._top_k = selector_top_k(model.handle)
        markov = "markov_w1.weight" in tensors
        self._is_confident = markov and "conf_proj.weight" in tensors
        from_anchor = markov and model.metadata("dflash.sample_from_anchor") != "false"
        self.first_row = 0 if from_anchor else 1
        self.n_block = int(model.metadata("dflash.block_size") or _DEFAULT_BLOCK) - self.first_row
        if self._is_confident or self._top_k:
            llama_cpp_ext.llama_set_embeddings_nextn(self.handle, True, False)
        causal = model.metadata("dflash.attention.causal") == "true"
        llama_cpp.llama_set_causal_attn(self.handle, causal)

    def remember(self, batch: Batch, states: NDArray[np.float32]) -> None:
        """See `engine.backend.BlockHead.remember`.

        Raises:
            LocalspecError: llama.cpp failed; the message carries its own reason.
        """
        lib = library()
        lib.forget_log()
        filled = self._states_batch.fill(batch.positions, batch.seq_ids, states, outputs=False)
        code = llama_cpp.llama_decode(self.handle, filled)
        if code != 0:
            raise LocalspecError(f"llama.cpp could not run a pass (code {code}): {lib.reason()}")

    def propose(self, batch: Batch) -> "Rows | Lattice":
        """See `engine.backend.BlockHead.propose`."""
        n = len(batch)
        if self._top_k:
            batch.outputs = [False] * n
            self.decode(batch)
            rows = nextn_rows(self.handle, n, self.n_embd)
            return Lattice(rows, self._top_k, self.n_vocab)
        logits = self.decode(batch)
        confidences = None
        if self._is_confident:
            # the estimate stands in every place of its row
            confidences = nextn_rows(self.handle, n, self.n_embd)[:, 0]
        return Rows(logits, confidences)

    def close(self) -> None:
        """Free the context and its buffers."""
        if self.handle:
            self._states_batch.close()
        super().close()


class Rows:
    """Proposals that come as logits (engine/backend.py: Proposals).

    Args:
        logits: shape (n, n_vocab).
        confidences: shape (n,), of the model's own making.
    """

    def __init__(
        self, logits: NDArray[np.float32], confidences: NDArray[np.float32] | None
    ) -> None:
        self._logits = logits
        self._confidences = confidences

    def row(self, i: int, before: int) -> NDArray[np.float32]:
        """See `engine.backend.Proposals.row`."""
        return self._logits[i]

    def confidence(self, i: int) -> float | None:
        """See `engine.backend.Proposals.confidence`."""
        return None if self._confidences is None else float(self._confidences[i])


class Lattice:
    """Proposals of DFlash2: for each place some candidates, and how well each follows each of the place
    before (llama.cpp: `build_dflash2_selector`, src/models/dflash.cpp).

    Args:
        rows: shape (n, width): `top_k` ids, then `top_k` rows of `top_k` scores, one row for each
            candidate of the place before; the rest is not used. Ids are exact as floats up to 2^24.
        top_k: candidates a place.
        n_vocab: tokens of the vocabulary.
    """

    def __init__(self, rows: NDArray[np.float32], top_k: int, n_vocab: int) -> None:
        self._ids = rows[:, :top_k].astype(np.int64)
        self._scores = rows[:, top_k : top_k + top_k * top_k].reshape(-1, top_k, top_k)
        self._n_vocab = n_vocab

    def row(self, i: int, before: int) -> NDArray[np.float32]:
        """See `engine.backend.Proposals.row`; what is no candidate is impossible."""
        places = np.flatnonzero(self._ids[i - 1] == before)
        # the first place knows one predecessor, whose row is repeated
        place = int(places[0]) if len(places) else 0
        logits = np.full(self._n_vocab, -np.inf, np.float32)
        logits[self._ids[i]] = self._scores[i, place]
        return logits

    def confidence(self, i: int) -> float | None:
        """See `engine.backend.Proposals.confidence`."""
        return None
