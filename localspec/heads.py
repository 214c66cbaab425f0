"""Opens a drafter that reads its target's states, beside that target."""

from collections.abc import Collection

from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.block import BlockDrafter
from localspec.engine.drafters.chain import ChainDrafter
from localspec.engine.drafters.guest import GuestDrafter
from localspec.engine.drafters.head import HeadDrafter
from localspec.llama.blocks import BlockContext
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.extension import target_layers
from localspec.llama.heads import EagleContext, HeadContext, LayerStates, NextnStates
from localspec.llama.model import LlamaModel
from localspec.store.architectures import HeadKind


def open_head(
    kind: HeadKind,
    model: LlamaModel,
    settings: ContextSettings,
    target: LlamaContext,
    tensors: Collection[str],
) -> tuple[LlamaContext, Drafter]:
    """The context of a head, and the drafter that uses it. Close the context before the target's.

    Args:
        kind: what the head is, see `store.architectures.sidecar_kind`.
        model: holds the head; loaded with `load_mtp`.
        settings: as for the target.
        target: shows its states from now on.
        tensors: names of all tensors in the head's file.

    Raises:
        OutOfResourcesError: no room for its context.
        UnsupportedFileError: this build of llama.cpp cannot run such a head.
    """
    n_vocab = target.n_vocab
    match kind:
        case "eagle3":
            shown = LayerStates(target, target_layers(model.handle))
            eagle = EagleContext(model, settings, target)
            return eagle, HeadDrafter(eagle, shown, n_vocab, kind=kind, shift=1)
        case "dflash" | "dspark":
            shown = LayerStates(target, target_layers(model.handle))
            block = BlockContext(model, settings, target, tensors)
            return block, BlockDrafter(block, shown, n_vocab, kind=kind)
        case "mtp":
            nextn = NextnStates(target)
            head = HeadContext(model, settings, target)
            if head.shares_memory:
                return head, GuestDrafter(head, nextn, n_vocab)
            if head.n_heads > 1:
                return head, ChainDrafter(head, nextn, n_vocab)
            return head, HeadDrafter(head, nextn, n_vocab)
