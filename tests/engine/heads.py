"""Opens targets with their heads, and drafts with a head the slow way, for comparison."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localspec.batch import Batch
from localspec.engine.drafters.base import Drafter
from localspec.heads import open_head
from localspec.llama.blocks import BlockContext
from localspec.llama.context import LlamaContext
from localspec.llama.heads import EagleContext, HeadContext, LayerStates, NextnStates
from localspec.llama.model import LlamaModel
from localspec.store.architectures import sidecar_kind
from localspec.store.header import read_header
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
    head: LlamaContext
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
        header = read_header(sidecar or path)
        kind, how = sidecar_kind(header) or "mtp", settings(holder, n_seq_max=n_seq_max)
        head, drafter = open_head(kind, holder, how, target, header.tensors)
        stack.enter_context(head)
        yield Headed(target, head, drafter)


def states_of(pair: Headed, tokens: list[int]) -> np.ndarray:
    """The target's states of a text, read in one go, as the pair's head wants them."""
    pair.target.memory.drop(0)
    if isinstance(pair.head, EagleContext | BlockContext):
        states: NextnStates | LayerStates = LayerStates(pair.target, pair.head.layers)
    else:
        states = NextnStates(pair.target)
    rows = []
    for i in range(0, len(tokens), 32):
        batch = Batch()
        batch.add(tokens[i : i + 32], i, 0, 0)
        pair.target.decode(batch)
        rows.append(states.rows(len(batch)).copy())
    return np.concatenate(rows)


def drafted_afresh(
    head: LlamaContext, tokens: list[int], states: np.ndarray, depth: int
) -> list[int]:
    """What a head with nothing in its memory drafts after a text, from the target's states of all of it.

    Args:
        head: used for this alone.
        tokens: the text, its last token not yet read by the target.
        states: of all tokens but the last, shape (len(tokens) - 1, width).
        depth: tokens to draft.
    """
    head.memory.drop(0)
    if isinstance(head, BlockContext):
        return _block_afresh(head, tokens, states, depth)
    assert isinstance(head, HeadContext)
    if isinstance(head, EagleContext):
        return _chain(head, tokens[1:], head.encode(states), depth)
    before = np.concatenate([np.zeros((1, states.shape[1]), np.float32), states])
    if head.n_heads > 1 and not head.shares_memory:
        return _one_by_one(head, tokens, before, depth)
    return _chain(head, tokens, before, depth)


def _one_by_one(head: HeadContext, tokens: list[int], states: np.ndarray, depth: int) -> list[int]:
    """Have each head read the text with nothing else in memory, then the chain up to its own place."""
    found, chain = tokens[-1:], [states[-1]]
    for i in range(depth):
        head.memory.drop(0)
        head.use(i)
        for start in range(0, len(tokens) - 1, head.n_batch):
            part = tokens[start : min(start + head.n_batch, len(tokens) - 1)]
            batch = Batch()
            batch.add(part, start, 0, 0)
            head.read(batch, states[start : start + len(part)])
        batch = Batch()
        batch.add(found, len(tokens) - 1, 0, 1)
        logits, own = head.read(batch, np.array(chain))
        found, chain = [*found, int(logits[0].argmax())], [*chain, own[0].copy()]
    return found[1:]


def _chain(head: HeadContext, tokens: list[int], states: np.ndarray, depth: int) -> list[int]:
    """Read tokens with their states, then go on with what the head says and shows itself."""
    for start in range(0, len(tokens), head.n_batch):
        part = tokens[start : start + head.n_batch]
        batch = Batch()
        batch.add(part, start, 0, int(start + len(part) == len(tokens)))
        logits, own = head.read(batch, states[start : start + len(part)])
    found = []
    for i in range(depth):
        found.append(int(logits[0].argmax()))
        batch = Batch()
        batch.add(found[-1:], len(tokens) + i, 0, 1)
        logits, own = head.read(batch, own.copy())
    return found


def _block_afresh(
    head: BlockContext, tokens: list[int], states: np.ndarray, depth: int
) -> list[int]:
    for start in range(0, len(states), head.n_batch):
        part = states[start : start + head.n_batch]
        batch = Batch()
        batch.add([0] * len(part), start, 0, 0)
        head.remember(batch, part)
    size = depth + head.first_row
    batch = Batch()
    batch.add([tokens[-1], *[head.mask] * (size - 1)], len(states), 0, size)
    proposals = head.propose(batch)
    found = tokens[-1:]
    for i in range(head.first_row, size):
        found.append(int(proposals.row(i, found[-1]).argmax()))
    return found[1:]
