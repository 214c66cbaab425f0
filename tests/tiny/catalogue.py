"""The tiny models by name, and the ways in which a test may vary one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tests.tiny import chained, drafters, recurrent, transformers
from tests.tiny.model import TinyModel, Value, perturbed
from tests.tiny.vocabulary import BYTES, CHATML, Vocabulary


@dataclass(frozen=True, slots=True)
class Variant:
    """How a model differs from the plain one of its name.

    Attributes:
        seed: other weights; None takes the name's own.
        eps: noise on every matrix, see `perturbed`; 0 leaves them.
        eps_seed: which noise.
        vocabulary: the tokenizer; None leaves it out.
        template: the chat template; None leaves it out.
        n_ctx: the context length the file names.
        agreeing: how far a target and its head are from agreeing always, see `drafters.agree`; None for
            weights that do not know each other.
        layers: three layers of the target: what a drafter reads in place of qwen3's; and a target that agrees
            then does so with drafters that read layers (gemma4 and qwen35 would with heads of their own).
        silenced: matrices whose name holds this text are zero; empty for none.
        metadata: (key without the architecture's prefix, value) pairs to add or replace; a list
            as value makes the variant unhashable.
    """

    seed: int | None = None
    eps: float = 0.0
    eps_seed: int = 99
    vocabulary: Vocabulary | None = BYTES
    template: str | None = CHATML
    n_ctx: int = 2048
    agreeing: float | None = None
    layers: tuple[int, int, int] | None = None
    silenced: str = ""
    metadata: tuple[tuple[str, Value], ...] = ()


class TinyModels(Protocol):
    """What the fixture `tiny` is: name and variant to the path of a file, written once."""

    def __call__(self, name: str, variant: Variant | None = None) -> Path: ...


Fill = Callable[[TinyModel], None]

MODELS: dict[str, tuple[str, int, Fill]] = {
    "llama": ("llama", 1, transformers.llama),
    "qwen2": ("qwen2", 2, transformers.qwen2),
    "qwen3": ("qwen3", 3, transformers.qwen3),
    "gemma3": ("gemma3", 4, transformers.gemma3),
    "gemma4": ("gemma4", 5, transformers.gemma4),
    "qwen35": ("qwen35", 7, recurrent.qwen35),
    "qwen35-without-mtp": ("qwen35", 7, recurrent.qwen35_without_mtp),
    "mamba": ("mamba", 10, recurrent.mamba),
    "lfm2": ("lfm2", 11, recurrent.lfm2),
    "falcon-h1": ("falcon-h1", 12, recurrent.falcon_h1),
    "step35": ("step35", 14, chained.step35),
    "mimo2": ("mimo2", 15, chained.mimo2),
    "hy_v3": ("hy_v3", 16, chained.hy_v3),
}
"""The models that write text: name -> (architecture, default seed, what fills the model)."""

OTHERS: dict[str, tuple[str, int, Fill]] = {
    "gemma4-assistant": ("gemma4-assistant", 6, drafters.gemma4_assistant),
    "eagle3": ("eagle3", 8, drafters.eagle3),
    "dflash": ("dflash", 9, drafters.dflash),
    "dspark": ("dflash", 9, drafters.dspark),
    "dflash2": ("dflash", 9, drafters.dflash2),
    "qwen35-mtp": ("qwen35", 7, drafters.qwen35_mtp),
    "bert": ("bert", 13, transformers.bert),
}
"""Drafters that only work beside their target, and an embedding model."""

NAMES = tuple(MODELS)
"""The models that write text."""


def build(name: str, variant: Variant | None = None) -> TinyModel:
    """The model of that name in memory."""
    variant = variant or Variant()
    architecture, seed, fill = (MODELS | OTHERS)[name]
    model = TinyModel(
        architecture,
        np.random.default_rng(seed if variant.seed is None else variant.seed),
        n_ctx=variant.n_ctx,
        vocabulary=variant.vocabulary,
        template=variant.template,
    )
    fill(model)
    model.metadata |= dict(variant.metadata)
    if variant.layers and "target_layers" in model.metadata:
        model.metadata["target_layers"] = list(variant.layers)
    if variant.agreeing is not None:
        drafters.agree(model, variant.agreeing, by_layers=variant.layers is not None)
    for key, tensor in model.tensors.items():
        if variant.silenced and variant.silenced in key:
            model.tensors[key] = np.zeros_like(tensor)
    return perturbed(model, variant.eps_seed, variant.eps) if variant.eps else model


def write(path: Path, name: str, variant: Variant | None = None) -> Path:
    """Write the model of that name to `path` and return it."""
    build(name, variant).save(path)
    return path
