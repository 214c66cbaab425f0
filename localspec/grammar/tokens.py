"""A model's vocabulary as llguidance wants it: what a grammar is matched against."""

from functools import cached_property
from typing import Protocol

from llguidance import LLTokenizer, TokenizerWrapper

_MARKER = b"\xff"
"""What llguidance wants before the text of a token that stands for itself; no UTF-8 holds it."""


class Vocabulary(Protocol):
    """What is asked of a vocabulary (`llama.Vocab`)."""

    n_tokens: int

    @property
    def ends(self) -> frozenset[int]:
        """Ids that end a generation."""

    def is_marker(self, token: int) -> bool:
        """True if the token stands for itself and not for its text."""

    def piece(self, token: int) -> bytes:
        """Bytes of one token."""

    def tokenize(self, text: str, *, add_bos: bool, parse_special: bool) -> list[int]:
        """Ids of a text."""


class GrammarTokens:
    """The tokens of a model, made once and shared by all grammars.

    Args:
        vocab: the model's; it must stay open.
    """

    def __init__(self, vocab: Vocabulary) -> None:
        self.vocab = vocab
        self.ends = vocab.ends
        pieces = [vocab.piece(i) for i in range(vocab.n_tokens)]
        self._alone = [i for i in range(vocab.n_tokens) if vocab.is_marker(i) or i in self.ends]
        self.markers = {
            pieces[i].decode(errors="replace"): i for i in self._alone if pieces[i].strip()
        }
        self.tokenizer = LLTokenizer(
            TokenizerWrapper(_Plain(self, pieces)),
            n_vocab=vocab.n_tokens,
            eos_token=sorted(self.ends),
        )

    @cached_property
    def inner(self) -> list[int]:
        """Ids that stand for themselves and do not end a generation."""
        return [i for i in self._alone if i not in self.ends]

    def ids(self, text: str) -> list[int]:
        """Ids of a text with its markers."""
        return self.vocab.tokenize(text, add_bos=False, parse_special=True)


class _Plain:
    """The attributes that `TokenizerWrapper` reads."""

    def __init__(self, tokens: GrammarTokens, pieces: list[bytes]) -> None:
        alone = tokens._alone
        self._tokenize = tokens.vocab.tokenize
        self.tokens = list(pieces)
        for i in alone:
            self.tokens[i] = _MARKER + pieces[i]
        self.special_token_ids = alone
        self.eos_token_id = min(tokens.ends, default=0)
        self.bos_token_id = None

    def __call__(self, text: bytes | str) -> list[int]:
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        return self._tokenize(text, add_bos=False, parse_special=False)
