"""Which proposals stay: the walk over the target's rows.

The target's own sampler picks at each row; the draft is kept while the pick equals the proposal,
and the first other pick is the correction. With shared noise the kept text is exactly what the
target alone would have written (see `noise.py`; for the rejection rule this stands beside:
Leviathan et al. 2023, arXiv 2211.17192, and Chen et al. 2023, arXiv 2302.01318).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.engine.constraint import Constraint
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one verify pass decided for one sequence.

    Attributes:
        tokens: the accepted proposals and the target's own token after them; it ends early at an
            end-of-generation token, after which nothing may follow.
        n_accepted: how many of `tokens` came from the draft.
        n_tested: proposals that were compared with a pick.
    """

    tokens: list[int]
    n_accepted: int
    n_tested: int


def verify(
    rows: NDArray[np.float32],
    draft: list[int],
    sampler: Sampler,
    tokens: list[int],
    ends: frozenset[int],
    constraint: Constraint | None = None,
) -> Verdict:
    """Walk the target's rows along a draft.

    Args:
        rows: logits after the last known token and after each proposal, shape (len(draft) + 1, n_vocab).
        draft: the proposals.
        sampler: the sequence's sampler.
        tokens: all tokens known before the draft.
        ends: end-of-generation tokens.
        constraint: what may follow `tokens`; None for anything.
    """
    kept: list[int] = []
    for i, row in enumerate(rows):
        place = constraint.at(kept) if constraint else None
        pick = sampler.token(row, len(tokens) + i, sampler.window(tokens, kept), place)
        kept.append(pick)
        agreed = i < len(draft) and pick == draft[i]
        if not agreed:
            return Verdict(kept, i, min(i + 1, len(draft)))
        if pick in ends:
            return Verdict(kept, i + 1, i + 1)
    raise AssertionError("the row after the last proposal always ends the walk")
