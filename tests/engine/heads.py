"""Opens targets with their heads, and drafts with a head the slow way, for comparison."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localspec.batch import Batch
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.head import GuestDrafter, HeadDrafter
from localspec.llama.context import LlamaContext
from localspec.llama.heads import HeadContext, NextnStates
from localspec.llama.model import LlamaModel
from tests.engine.running import opening, settings


@dataclass(frozen=True, slots=True)
class Headed:
    """A target and its head, open.

    Attributes:
        target: the target's context.
        head: the head's.
        drafter: drafts with it.
    """

    target: LlamaContext
    head: HeadContext
    drafter: Drafter


@contextmanager
def headed(path: Path, sidecar: Path | None = None, n_seq_max: int = 1) -> Iterator[Headed]:
    """A target with the head in its own file, or in a file beside it."""
    with ExitStack() as stack:
        model = stack.enter_context(LlamaModel(path, use_extra_bufts=False, load_mtp=not sidecar))
        holder = model
        if sidecar is not None:
            holder = stack.enter_context(LlamaModel(sidecar, use_extra_bufts=False, load_mtp=True))
        target = stack.enter_context(opening(model, n_seq_max=n_seq_max))
        how = settings(holder, n_seq_max=n_seq_max)
        head = stack.enter_context(HeadContext(holder, how, target))
        kind = GuestDrafter if head.shares_memory else HeadDrafter
        yield Headed(target, head, kind(head, NextnStates(target), target.n_vocab))


def drafted_afresh(
    head: HeadContext, tokens: list[int], states: np.ndarray, depth: int
) -> list[int]:
    """What a head with nothing in its memory drafts after a text, from the target's states of all of it.

    Args:
        head: used for this alone.
        tokens: the text, its last token not yet read by the target.
        states: of all tokens but the last, shape (len(tokens) - 1, width).
        depth: tokens to draft.
    """
    head.memory.drop(0)
    before = np.concatenate([np.zeros((1, states.shape[1]), np.float32), states])
    for start in range(0, len(tokens), head.n_batch):
        part = tokens[start : start + head.n_batch]
        batch = Batch()
        batch.add(part, start, 0, int(start + len(part) == len(tokens)))
        logits, own = head.read(batch, before[start : start + len(part)])
    found = []
    for i in range(depth):
        found.append(int(logits[0].argmax()))
        batch = Batch()
        batch.add(found[-1:], len(tokens) + i, 0, 1)
        logits, own = head.read(batch, own[-1:].copy())
    return found
