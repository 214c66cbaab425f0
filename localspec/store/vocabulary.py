"""A model's vocabulary as its file states it, with llama.cpp's defaults for what is left out.

The defaults are those of `src/llama-vocab.cpp`: they decide whether two files agree although one
of them leaves a key out. `vocabulary_match.py` compares two vocabularies; the tokenizer itself is
llama.cpp's.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from localspec.store.fields import Fields
from localspec.store.gguf_reader import Array, Damage

MAX_TOKENS: Final = 1 << 20
"""Four times the largest vocabulary known (262,208)."""

_TYPES: Final[Mapping[str, tuple[str, int | None, int | None]]] = {
    "gpt2": ("BPE", 11, 11),
    "gemma4": ("BPE", None, None),
    "hybriddna": ("BPE", 11, 11),
    "whitespace": ("BPE", 11, 11),
    "llama": ("SPM", 1, 2),
    "bert": ("WPM", 101, None),
    "t5": ("UGM", None, 1),
    "rwkv": ("RWKV", None, None),
    "plamo2": ("PLAMO2", 1, 2),
}
"""`tokenizer.ggml.model` -> (llama.cpp's vocabulary type, default bos id, default eos id)."""

_WITHOUT_BOS: Final = frozenset({"chatglm-bpe", "glm4", "glm5"})
_ADD_BOS: Final = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}
    | {"jina-v5-nano", "tekken", "chameleon"}
)
"""Pre-tokenizers (`tokenizer.ggml.pre`) that change BPE's defaults."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a file says about its tokenizer.

    Attributes:
        type: llama.cpp's vocabulary type: "BPE", "SPM", "WPM", …
        pre: the pre-tokenizer of a BPE vocabulary, "" where the file names none.
        size: number of tokens.
        bos: id of the token that begins a text; None without one.
        eos: id of the token that ends a text; None without one.
        add_bos: llama.cpp puts `bos` before every text.
        add_eos: llama.cpp puts `eos` after every text.
        digest: equal for two vocabularies whose token texts are all equal.
    """

    type: str
    pre: str
    size: int
    bos: int | None
    eos: int | None
    add_bos: bool
    add_eos: bool
    digest: str
    _tokens: Array

    def text(self, token: int | None) -> str:
        """The text of one token; empty for none."""
        return "" if token is None else self.texts()[token].decode(errors="replace")

    def texts(self) -> list[bytes]:
        """The text of every token by id, as bytes (UTF-8 in a sound file).

        Takes some 30 ms for 150,000 tokens; compare `digest` first.
        """
        return _texts(self._tokens)


def read_vocabulary(fields: Fields) -> Vocabulary | None:
    """The vocabulary of a file; None if it has none.

    Raises:
        Damage: a key is of the wrong type, or llama.cpp would abort the process over the tokens.
    """
    model = fields.text("tokenizer.ggml.model")
    tokens = fields.array("tokenizer.ggml.tokens")
    if model is None or model in ("none", "no_vocab") or tokens is None:
        return None
    if not tokens.of_strings:
        raise Damage("tokenizer.ggml.tokens are no texts")
    if tokens.count > MAX_TOKENS:
        raise Damage(f"its vocabulary has {tokens.count} tokens")
    # llama.cpp aborts the process over a repeated token instead of failing
    if len(set(_texts(tokens))) != tokens.count:
        raise Damage("its vocabulary has the same token twice")
    type_, bos, eos = _TYPES.get(model, (model, None, None))
    pre = fields.text("tokenizer.ggml.pre") or ""
    if type_ == "BPE" and pre in _WITHOUT_BOS:
        bos = None
    add_bos = type_ in ("SPM", "WPM") or (type_ == "BPE" and pre in _ADD_BOS)
    stated_bos = fields.flag("tokenizer.ggml.add_bos_token")
    stated_eos = fields.flag("tokenizer.ggml.add_eos_token")
    return Vocabulary(
        type=type_,
        pre=pre,
        size=tokens.count,
        bos=_special(fields, "bos", bos, tokens.count),
        eos=_special(fields, "eos", eos, tokens.count),
        # llama.cpp adds it for gemma4 whatever the file says
        add_bos=model == "gemma4" or (add_bos if stated_bos is None else stated_bos),
        add_eos=type_ == "UGM" if stated_eos is None else stated_eos,
        digest=hashlib.blake2b(tokens.raw, digest_size=16).hexdigest(),
        _tokens=tokens,
    )


def _special(fields: Fields, name: str, default: int | None, size: int) -> int | None:
    """A special token's id; one that is out of range counts as not stated, as in llama.cpp."""
    stated = fields.integer(f"tokenizer.ggml.{name}_token_id")
    if stated is not None and stated < size:
        return stated
    return default if default is not None and default < size else None


def _texts(tokens: Array) -> list[bytes]:
    """Token texts as llama.cpp holds them: an empty one gets a name."""
    return [text or b"[EMPTY_%d]" % token for token, text in enumerate(tokens.strings())]
