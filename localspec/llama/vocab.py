"""The vocabulary of a model: text to token ids and back, and what ends a turn."""

import ctypes
from functools import cached_property

import llama_cpp

from localspec.errors import LocalspecError

_NO_TEXT = (
    llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
    | llama_cpp.LLAMA_TOKEN_ATTR_UNUSED
    | llama_cpp.LLAMA_TOKEN_ATTR_CONTROL
)


class Vocab:
    """Token ids of one model.

    Args:
        handle: llama_vocab pointer, valid as long as the model is.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.n_tokens: int = llama_cpp.llama_vocab_n_tokens(handle)
        self.bos: int = llama_cpp.llama_vocab_bos(handle)
        self.eos: int = llama_cpp.llama_vocab_eos(handle)
        self.mask: int = llama_cpp.llama_vocab_mask(handle)
        self.adds_bos: bool = llama_cpp.llama_vocab_get_add_bos(handle)
        self._buffer = ctypes.create_string_buffer(256)

    @cached_property
    def ends(self) -> frozenset[int]:
        """Ids that end a generation (llama_vocab_is_eog)."""
        is_end = llama_cpp.llama_vocab_is_eog
        return frozenset(i for i in range(self.n_tokens) if is_end(self._handle, i))

    @cached_property
    def suppressed(self) -> tuple[int, ...]:
        """Ids the model's maker says must never be sampled (llama_vocab_get_suppress_tokens)."""
        n = ctypes.c_int32(0)
        ids = llama_cpp.llama_vocab_get_suppress_tokens(self._handle, ctypes.byref(n))
        return tuple(ids[i] for i in range(n.value)) if ids else ()

    @cached_property
    def named(self) -> frozenset[str]:
        """Texts that are read as one token wherever they stand: markers, and words a maker has added."""
        attributes = _NO_TEXT | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
        get = llama_cpp.llama_vocab_get_attr
        ids = (i for i in range(self.n_tokens) if get(self._handle, i) & attributes)
        return frozenset(self.text(i) for i in ids)

    def is_marker(self, token: int) -> bool:
        """True if the token stands for itself and not for its text (llama_vocab_get_attr)."""
        return bool(llama_cpp.llama_vocab_get_attr(self._handle, token) & _NO_TEXT)

    def tokenize(self, text: str, *, add_bos: bool, parse_special: bool) -> list[int]:
        """Ids of a text.

        Args:
            text: any text; lone surrogates are replaced.
            add_bos: begin with the beginning-of-sequence token where the model wants one.
            parse_special: read markers such as <|im_end|> as the tokens they name.

        Raises:
            LocalspecError: the text is too long for llama.cpp to count.
        """
        data = text.encode("utf-8", errors="replace")
        capacity = len(data) + 8
        for _ in range(2):
            ids = (llama_cpp.llama_token * capacity)()
            n = llama_cpp.llama_tokenize(
                self._handle, data, len(data), ids, capacity, add_bos, parse_special
            )
            if n >= 0:
                return ids[:n]
            capacity = -n
        raise LocalspecError(f"a text of {len(data)} bytes cannot be tokenized")

    def piece(self, token: int) -> bytes:
        """Bytes of one token as they belong into the answer; markers give their text."""
        n = llama_cpp.llama_token_to_piece(
            self._handle, token, self._buffer, len(self._buffer), 0, True
        )
        if n < 0:
            self._buffer = ctypes.create_string_buffer(-n)
            n = llama_cpp.llama_token_to_piece(
                self._handle, token, self._buffer, len(self._buffer), 0, True
            )
        return self._buffer.raw[:n]

    def text(self, token: int) -> str:
        """The token as the file spells it; empty for an id that is none."""
        if not 0 <= token < self.n_tokens:
            return ""
        return self.piece(token).decode(errors="replace")
