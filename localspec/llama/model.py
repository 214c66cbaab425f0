"""A model file opened by llama.cpp: its weights, its vocabulary and what it says about itself."""

import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import llama_cpp

from localspec.errors import UnsupportedFileError
from localspec.llama.library import library
from localspec.llama.uninterrupted import uninterrupted
from localspec.llama.vocab import Vocab


class LlamaModel:
    """Weights in memory. Free every context made from it first, then call `close`.

    Args:
        path: a GGUF file whose header was checked (llama.cpp aborts the process on some bad files).
        use_extra_bufts: let llama.cpp repack weights (see `numerics.py`).
        load_mtp: load the MTP layers too, if it has any.
        overrides: metadata to read otherwise than it stands in the file, by key.
        on_progress: called with the loaded fraction, 0.0..1.0.

    Raises:
        UnsupportedFileError: llama.cpp refuses the file; the message carries its own reason.
    """

    def __init__(
        self,
        path: Path,
        *,
        use_extra_bufts: bool,
        load_mtp: bool = False,
        overrides: Mapping[str, int | str] | None = None,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        lib = library()
        lib.forget_log()
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = use_extra_bufts
        params.load_mtp = load_mtp
        kept = _overrides(overrides or {})
        params.kv_overrides = kept

        with uninterrupted() as key:

            @llama_cpp.llama_progress_callback
            def report(fraction: float, _: ctypes.c_void_p) -> bool:
                if on_progress is not None:
                    on_progress(fraction)
                return not key.requested

            params.progress_callback = report
            handle = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
            if key.requested and handle:
                llama_cpp.llama_model_free(handle)
        if not handle:
            raise UnsupportedFileError(
                f"{path.name} cannot be loaded: {lib.reason()}", f"localspec inspect {path}"
            )
        self.handle: int = handle
        self.path = path
        self._has_mtp = load_mtp
        self.vocab = Vocab(llama_cpp.llama_model_get_vocab(handle))

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context the model was trained for."""
        return int(llama_cpp.llama_model_n_ctx_train(self.handle))

    @property
    def n_embd_out(self) -> int:
        """Width of the states it gives out."""
        return int(llama_cpp.llama_model_n_embd_out(self.handle))

    @property
    def n_swa(self) -> int:
        """Width of the sliding attention window in tokens, 0 where all attention is full."""
        return int(llama_cpp.llama_model_n_swa(self.handle))

    @property
    def architecture(self) -> str:
        """Its `general.architecture`."""
        return self.metadata("general.architecture") or ""

    def metadata(self, key: str) -> str | None:
        """A value of the file's metadata as text, None if it is not there or an array."""
        text = ctypes.create_string_buffer(128)
        n = llama_cpp.llama_model_meta_val_str(self.handle, key.encode(), text, len(text))
        return text.value.decode(errors="replace") if n >= 0 else None

    def require_mtp(self) -> None:
        """Refuse a model without MTP layers: llama.cpp aborts the process where they were not loaded.

        Raises:
            ValueError: it was opened without `load_mtp`.
            UnsupportedFileError: its file has none.
        """
        if llama_cpp.llama_model_n_layer_nextn(self.handle) == 0:
            raise UnsupportedFileError(
                f"{self.path.name} has no MTP layers to draft with.", "Draft without: -d lookup"
            )
        if not self._has_mtp:
            raise ValueError(f"{self.path.name} was loaded without its MTP layers")

    @property
    def jumps(self) -> bool:
        """True if llama.cpp lets positions jump, which images do with rotary positions in sections."""
        sections = (llama_cpp.LLAMA_ROPE_TYPE_MROPE, llama_cpp.LLAMA_ROPE_TYPE_IMROPE)
        return llama_cpp.llama_model_rope_type(self.handle) in sections

    @property
    def n_embd(self) -> int:
        """Width of its layers."""
        return int(llama_cpp.llama_model_n_embd(self.handle))

    @property
    def n_layers(self) -> int:
        """Layers of its trunk."""
        return int(llama_cpp.llama_model_n_layer(self.handle))

    @property
    def keeps_state(self) -> bool:
        """True for recurrent and hybrid models, whose state has no tail that could be cut."""
        return bool(
            llama_cpp.llama_model_is_recurrent(self.handle)
            or llama_cpp.llama_model_is_hybrid(self.handle)
        )

    @property
    def n_bytes(self) -> int:
        """Size of its weights."""
        return int(llama_cpp.llama_model_size(self.handle))

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of 16-bit K and V cache for a token, every layer counted as full attention."""
        n_head = max(1, llama_cpp.llama_model_n_head(self.handle))
        head = llama_cpp.llama_model_n_embd(self.handle) // n_head
        n_kv = llama_cpp.llama_model_n_head_kv(self.handle)
        return int(2 * 2 * llama_cpp.llama_model_n_layer(self.handle) * n_kv * head)

    def chat_template(self, name: str | None = None) -> str | None:
        """Source of the model's Jinja template, None if it has none."""
        found = llama_cpp.llama_model_chat_template(self.handle, name.encode() if name else None)
        return found.decode(errors="replace") if found else None

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            llama_cpp.llama_model_free(self.handle)
            self.handle = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _overrides(values: Mapping[str, int | str]) -> ctypes.Array[llama_cpp.llama_model_kv_override]:
    """An array that ends with an empty key; it must live until the model is loaded."""
    found = (llama_cpp.llama_model_kv_override * (len(values) + 1))()
    for entry, (key, value) in zip(found, values.items(), strict=False):
        entry.key = key.encode()
        if isinstance(value, int):
            entry.tag, entry.value.val_i64 = llama_cpp.LLAMA_KV_OVERRIDE_TYPE_INT, value
        else:
            entry.tag, entry.value.val_str = llama_cpp.LLAMA_KV_OVERRIDE_TYPE_STR, value.encode()
    return found
