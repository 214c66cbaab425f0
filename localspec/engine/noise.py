"""Gumbel noise as a pure function of (seed, position, token id).

Target and drafter draw with the same noise, so they agree whenever their distributions do, and the
text depends on nothing but the seed and the target (Daliri, Musco, Suresh: "Coupling without
communication and drafter-invariant speculative decoding", arXiv 2408.07978).
"""

from math import log

import numpy as np
from numpy.typing import NDArray

_GAMMA = 0x9E3779B97F4A7C15
_MIX1 = 0xBF58476D1CE4E5B9
_MIX2 = 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014) on one 64-bit integer."""
    x = ((x ^ (x >> 30)) * _MIX1) & _MASK
    x = ((x ^ (x >> 27)) * _MIX2) & _MASK
    return x ^ (x >> 31)


def gumbel(seed: int, position: int, ids: NDArray[np.integer]) -> NDArray[np.float64]:
    """Standard Gumbel noise for the given token ids at one position of a text.

    Args:
        seed: any integer; its low 64 bits count.
        position: index of the token to be picked in its sequence.
        ids: token ids, shape (n,).

    Returns:
        Noise, shape (n,): independent over seeds, positions and ids.
    """
    x = np.uint64(noise_key(seed, position)) + ids.astype(np.uint64) * np.uint64(_GAMMA)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MIX1)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MIX2)
    x ^= x >> np.uint64(31)
    # 53 bits centred in their cell: never 0 or 1, so both logarithms are finite.
    return -np.log(-np.log(((x >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53))


def noise_key(seed: int, position: int) -> int:
    """What `gumbel_at` needs to know of a seed and a position."""
    return _mix((_mix(seed & _MASK) + (position + 1) * _GAMMA) & _MASK)


def gumbel_at(key: int, token: int) -> float:
    """The noise of one token id: what `gumbel` gives, for a few ids, without numpy.

    Args:
        key: from `noise_key`.
        token: token id.
    """
    return -log(-log(((_mix((key + token * _GAMMA) & _MASK) >> 11) + 0.5) * 2.0**-53))
