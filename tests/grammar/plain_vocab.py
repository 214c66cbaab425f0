"""A vocabulary of bytes and of the markers a test names: what a grammar sees of a model."""

import re


class PlainVocab:
    """One token a byte, then markers, then the end of a generation (see `grammar.tokens.Vocabulary`).

    Args:
        markers: tokens that stand for themselves.
        words: further tokens that stand for their text.
        ends: markers that end a generation; one more is always there.
    """

    def __init__(self, markers=(), words=(), ends=()) -> None:
        self._markers = [*markers, *ends, "<eos>"]
        self._pieces = [bytes([i]) for i in range(256)]
        self._pieces += [word.encode() for word in words]
        first = len(self._pieces)
        self._ids = {marker: first + i for i, marker in enumerate(self._markers)}
        self._pieces += [marker.encode() for marker in self._markers]
        self._words = {word: 256 + i for i, word in enumerate(words)}
        self.n_tokens = len(self._pieces)
        self.eos = self._ids["<eos>"]
        self.ends = frozenset(self._ids[end] for end in (*ends, "<eos>"))

    def is_marker(self, token):
        return token in self._ids.values()

    def piece(self, token):
        return self._pieces[token]

    def tokenize(self, text, *, add_bos=False, parse_special=True):
        named = {**self._words, **(self._ids if parse_special else {})}
        found = sorted(named, key=len, reverse=True)
        parts = re.split("(" + "|".join(map(re.escape, found)) + ")", text) if found else [text]
        ids = []
        for part in parts:
            ids += [named[part]] if part in named else list(part.encode())
        return ids

    def text(self, ids):
        return b"".join(self._pieces[i] for i in ids).decode(errors="replace")
