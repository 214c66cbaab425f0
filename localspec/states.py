"""What it costs in memory to take drafts back from a recurrent or hybrid model, before it is paid."""

from dataclasses import dataclass

from localspec.llama.memory import plan_memory
from localspec.llama.numerics import plan_numerics
from localspec.params import DepthParams, Numerics
from localspec.store.header import Header
from localspec.store.recurrent import state_bytes

_MOST_STATES = 0.1
"""Memory that recurrent states of the tokens of a draft may take, in sizes of the model's file."""


@dataclass(frozen=True, slots=True)
class StateCost:
    """States of one sequence.

    Attributes:
        state_bytes: of one state.
        n_last_states: states of the last tokens that are kept beside the latest (llama.cpp's n_rs_seq).
        copies: the state before a draft is kept as a copy instead.
    """

    state_bytes: int
    n_last_states: int
    copies: bool

    @property
    def extra_bytes(self) -> int:
        """Bytes beside the one state that plain decoding needs."""
        return self.state_bytes * (self.n_last_states or int(self.copies))


def copies_states(header: Header, n_draft: int) -> bool:
    """Whether the states of a draft's tokens would take too much memory to be kept one by one."""
    return state_bytes(header) * n_draft > _MOST_STATES * header.size_bytes


def max_depth(depth: DepthParams, max_rows: int | None) -> int:
    """Tokens of the longest draft: what is wished, as far as a pass may have so many rows."""
    wanted = depth.max_depth if depth.depth is None else depth.depth
    return wanted if max_rows is None else min(wanted, max_rows - 1)


def state_cost(header: Header, numerics: Numerics | None = None) -> StateCost | None:
    """What drafts cost a model that keeps a state; None for one that keeps none."""
    if not state_bytes(header):
        return None
    n_draft = max_depth(DepthParams(), plan_numerics(numerics, header.products).max_rows)
    plan = plan_memory(
        header.architecture,
        keeps_state=True,
        n_swa=header.sliding_window or 0,
        n_draft=n_draft,
        copies=copies_states(header, n_draft),
    )
    return StateCost(state_bytes(header), plan.n_last_states, plan.copies)
