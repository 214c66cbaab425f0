"""What llama.cpp would not survive, or would answer wrongly without a word; `test_aborts.py` runs each here.

    python -m tests.llama.provocations NAME [FILE …]

in a process that may be lost. It prints the exception that came instead, or what came of it.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from localspec.batch import Batch
from localspec.llama.blocks import BlockContext
from localspec.llama.context import LlamaContext
from localspec.llama.heads import EagleContext, HeadContext, LayerStates, NextnStates
from localspec.llama.memory import MemoryKind
from localspec.llama.model import LlamaModel
from tests.engine.running import opened, settings

Provocation = Callable[[ExitStack, list[Path]], object]

WIDTH = 64
"""Of a state of the tiny models."""


def batch_of(tokens: list[int], position: int = 0, seq_id: int = 0, n_outputs: int = 1) -> Batch:
    batch = Batch()
    batch.add(tokens, position, seq_id, n_outputs)
    return batch


def a_pass(batch: Batch) -> Provocation:
    """A pass after three tokens of sequence 0; two sequences, 32 tokens a pass, 20 rows."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        context = stack.enter_context(opened(files[0], n_seq_max=2, n_batch=32))
        context.decode(batch_of([1, 2, 3]))
        return context.decode(batch).shape

    return provoke


def in_memory(do: Callable[[MemoryKind], object]) -> Provocation:
    """Something done to the memory of the same context."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        context = stack.enter_context(opened(files[0], n_seq_max=2))
        context.decode(batch_of([1, 2, 3]))
        return do(context.memory)

    return provoke


def few_outputs(stack: ExitStack, files: list[Path]) -> object:
    """Settings that ask for fewer rows than there are sequences."""
    model = stack.enter_context(LlamaModel(files[0], use_extra_bufts=False))
    wanted = replace(settings(model, n_seq_max=4), n_outputs=1)
    context = stack.enter_context(LlamaContext(model, wanted))
    batch = Batch()
    for seq_id in range(4):
        batch.add([1, 2], 0, seq_id, 1)
    return context.decode(batch).shape


def closed(stack: ExitStack, files: list[Path]) -> object:
    with opened(files[0]) as context:
        pass
    return context.decode(batch_of([1]))


def head_of(files: list[Path], stack: ExitStack, *, load_mtp: bool) -> tuple[LlamaContext, ...]:
    """A target, and the head in its own file or in the second one."""
    models = [
        stack.enter_context(LlamaModel(path, use_extra_bufts=False, load_mtp=load_mtp))
        for path in files
    ]
    target = stack.enter_context(LlamaContext(models[0], settings(models[0])))
    head = HeadContext(models[-1], settings(models[-1]), target)
    return target, stack.enter_context(head)


def opening_a_head(*, load_mtp: bool) -> Provocation:
    return lambda stack, files: head_of(files, stack, load_mtp=load_mtp)


def reading(states: np.ndarray | None, tokens: list[int] | None = None) -> Provocation:
    """A head reads three tokens with states that do not go with them."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        target, head = head_of(files, stack, load_mtp=True)
        assert isinstance(head, HeadContext)
        target.decode(batch_of([1, 2, 3]))
        logits, _ = head.read(batch_of(tokens or [1, 2, 3]), states)  # type: ignore[arg-type]
        return logits.shape

    return provoke


def states_for_a_target(stack: ExitStack, files: list[Path]) -> object:
    context = stack.enter_context(opened(files[0]))
    return context.decode(batch_of([1]), np.zeros((1, WIDTH), np.float32)).shape


def showing(n_tokens: int) -> Provocation:
    """The states of a target's pass of three tokens."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        context = stack.enter_context(opened(files[0]))
        states = NextnStates(context)
        context.decode(batch_of([1, 2, 3]))
        rows = states.rows(n_tokens)
        return rows.shape, bool(rows.any(axis=1).all())

    return provoke


def layers(ids: list[int], n_tokens: int = 3) -> Provocation:
    """The states that enter some layers in a target's pass of three tokens."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        context = stack.enter_context(opened(files[0]))
        states = LayerStates(context, ids)
        context.decode(batch_of([1, 2, 3]))
        rows = states.rows(n_tokens)
        return rows.shape, bool(rows.any(axis=1).all())

    return provoke


def encoding(width: int) -> Provocation:
    """An EAGLE head or a block takes states of a width over."""

    def provoke(stack: ExitStack, files: list[Path]) -> object:
        models = [stack.enter_context(LlamaModel(f, use_extra_bufts=False)) for f in files]
        target = stack.enter_context(LlamaContext(models[0], settings(models[0])))
        if "eagle3" in files[1].name:
            eagle = stack.enter_context(EagleContext(models[1], settings(models[1]), target))
            return eagle.encode(zeros(2, width)).shape
        block = BlockContext(models[1], settings(models[1]), target, frozenset())
        stack.enter_context(block)
        return block.remember(batch_of([0, 0], n_outputs=0), zeros(2, width))

    return provoke


def too_early(stack: ExitStack, files: list[Path]) -> object:
    return NextnStates(stack.enter_context(opened(files[0]))).rows(1)


def zeros(n: int, width: int = WIDTH) -> np.ndarray:
    return np.zeros((n, width), np.float32)


PROVOCATIONS: dict[str, Provocation] = {
    "a batch larger than n_batch": a_pass(batch_of([1] * 33, 3)),
    "more outputs than n_outputs_max": a_pass(batch_of([1] * 21, 3, n_outputs=21)),
    "a batch without tokens": a_pass(Batch()),
    "a token that is negative": a_pass(batch_of([1, -1], 3)),
    "a token beyond the vocabulary": a_pass(batch_of([1, 288], 3)),
    "a position gap": a_pass(batch_of([1, 2], 7)),
    "a position that is taken": a_pass(batch_of([1, 2], 2)),
    "a gap within a batch": a_pass(
        Batch([1, 2], positions=[3, 9], seq_ids=[0, 0], outputs=[True, True])
    ),
    "a batch of sequence -1": a_pass(batch_of([1], seq_id=-1)),
    "a batch of sequence 2 of 2": a_pass(batch_of([1], seq_id=2)),
    "keep of sequence 300": in_memory(lambda memory: memory.keep(300, 1)),
    "keep of sequence -1": in_memory(lambda memory: memory.keep(-1, 1)),
    "drop of sequence 300": in_memory(lambda memory: memory.drop(300)),
    "drop of sequence -1": in_memory(lambda memory: memory.drop(-1)),
    "fork to sequence 300": in_memory(lambda memory: memory.fork(0, 300)),
    "fork of sequence -1": in_memory(lambda memory: memory.fork(-1, 1)),
    "mark of sequence 2 of 2": in_memory(lambda memory: memory.mark(2)),
    "fewer outputs than sequences": few_outputs,
    "a pass of a closed context": closed,
    "a head whose layers were not loaded": opening_a_head(load_mtp=False),
    "a head that is not there": opening_a_head(load_mtp=True),
    "a head without states": reading(None),
    "too few states": reading(zeros(1)),
    "too many states": reading(zeros(4)),
    "states that are too narrow": reading(zeros(3, WIDTH // 2)),
    "states that are too wide": reading(zeros(3, 2 * WIDTH)),
    "states in a row": reading(zeros(3).ravel()),
    "states and no tokens": reading(zeros(3), [-1, -1, -1]),
    "states for a target": states_for_a_target,
    "states of an architecture": showing(3),
    "more states than a pass has": showing(100_000),
    "states of no pass": too_early,
    "states of two layers": layers([0, 1]),
    "states of layer 99": layers([99]),
    "states of layer -1": layers([-1]),
    "states of what leaves the last layer": layers([4]),
    "more states of a layer than a pass has": layers([0], 100_000),
    "states to encode": encoding(3 * WIDTH),
    "states to encode that are too narrow": encoding(WIDTH),
}


def main() -> None:
    name, *files = sys.argv[1:]
    with ExitStack() as stack:
        try:
            found = PROVOCATIONS[name](stack, [Path(file) for file in files])
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
        else:
            print(f"nothing: {found}")


if __name__ == "__main__":
    main()
