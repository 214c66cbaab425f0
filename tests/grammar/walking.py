"""Replies at random: any token that a grammar allows, those that end something more often."""

import random

import numpy as np

from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.tokens import GrammarTokens

_USUAL = frozenset(b'abcdefgn 0123456789."{}[]:,<>/=_\n')


def walked(tokens: GrammarTokens, grammar: str, seed: int, most: int = 600) -> str | None:
    """The text of a whole reply; None if it has not ended after `most` tokens."""
    rng, vocab = random.Random(seed), tokens.vocab
    constraint, ids = GrammarConstraint(tokens, grammar), []
    for _ in range(most):
        row = constraint.at([]).masked(np.zeros(vocab.n_tokens, np.float32))
        allowed = [int(i) for i in np.flatnonzero(np.isfinite(row))]
        if rng.random() < 0.3 and not tokens.ends.isdisjoint(allowed):
            return _text(vocab, ids)
        ending = [i for i in allowed if i >= 256 or chr(i) in '"}])<']
        usual = [i for i in allowed if i in _USUAL] or allowed
        token = rng.choice(ending) if ending and rng.random() < 0.45 else rng.choice(usual)
        if token in tokens.ends:
            return _text(vocab, ids)
        ids.append(token)
        constraint.take([token])
    return None


def _text(vocab, ids) -> str:
    return b"".join(vocab.piece(i) for i in ids).decode(errors="replace")
