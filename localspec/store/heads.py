"""Which heads fit a target: drafters that read its states, in its own file or in one beside it.

llama.cpp checks almost none of this: a head of another width reads past its rows, and an architecture
that does not show what a head asks for ends the process. So all of it is judged from the headers.
"""

from localspec.graphs import CHAINED_HEADS, MTP_GRAPH, SHOWS_LAST_STATE, SHOWS_LAYERS
from localspec.store.architectures import has_mtp_head, sidecar_kind
from localspec.store.fields import Small
from localspec.store.header import MISSPELT, Header
from localspec.store.vocabulary_match import vocabulary_mismatch

_EAGLE_LAYERS = 3
_DEFAULT_BLOCK, _LEAST_BLOCK, _MOST_BLOCK = 16, 2, 128
"""Tokens of a DFlash block. Its graph is unrolled over them: from about 256 on llama.cpp has no room for it."""


def missing_head(target: Header) -> str | None:
    """Why the head inside the target's own file cannot be used; None if it can."""
    if not target.nextn_predict_layers:
        return "it has no MTP head"
    if not has_mtp_head(target):
        return "the MTP head was left out of this file"
    return _graph_missing(target)


def _graph_missing(header: Header) -> str | None:
    """Why llama.cpp has no graph for the MTP layers of a file; None if it has."""
    architecture, n = header.architecture, header.nextn_predict_layers
    if architecture not in MTP_GRAPH:
        return f"llama.cpp cannot run the MTP head of {architecture}"
    if n > 1 and architecture not in CHAINED_HEADS:
        return f"llama.cpp runs one MTP layer of {architecture}, and the file has {n}"
    return None


def head_mismatch(target: Header, drafter: Header) -> str | None:
    """Why a head's file cannot draft for the target; None if it can."""
    if right := MISSPELT.get(drafter.architecture):
        return (
            f"its architecture is spelt {drafter.architecture}, which llama.cpp does not know,"
            f" and so are the names of its settings; a file for {right} would do"
        )
    reason = made_for_another(target, drafter)
    if reason:
        return reason
    if target.vocabulary and drafter.vocabulary:
        reason = vocabulary_mismatch(target.vocabulary, drafter.vocabulary)
        if reason:
            return reason
        sizes = target.vocabulary.size, drafter.vocabulary.size
        if sizes[0] != sizes[1]:
            # a head is fed any token of the target's, and may borrow its output
            return f"the target has {sizes[0]} tokens and the head {sizes[1]}"
    match sidecar_kind(drafter):
        case "mtp":
            # an assistant's layers are one head
            own_kind = drafter.architecture == target.architecture
            return _graph_missing(drafter) if own_kind else None
        case "eagle3":
            return _eagle_mismatch(target, drafter)
        case _:
            return _block_mismatch(target, drafter)


def made_for_another(target: Header, drafter: Header) -> str | None:
    """Why a drafter that borrows from its target does not belong to this one; None if it may."""
    architecture = drafter.architecture
    kind = sidecar_kind(drafter)
    if kind is None:
        return f"it is a complete model ({architecture}), not a head for another one"
    if kind == "mtp":
        owner = architecture.removesuffix("-assistant").removesuffix("_assistant")
        if owner != target.architecture:
            return f"it is made for {owner}, the target is {target.architecture}"
    width = _target_width(drafter)
    if not isinstance(width, int):
        return "it does not say for which width of its target it is made"
    if width != target.n_embd:
        return f"it is made for a target of width {width}, this one has {target.n_embd}"
    return None


def _eagle_mismatch(target: Header, drafter: Header) -> str | None:
    layers = _target_layers(drafter)
    if layers is None or len(layers) != _EAGLE_LAYERS:
        return "it does not name the three layers of its target that it reads"
    if drafter.n_layers != 1:
        return f"it has {drafter.n_layers} layers, and llama.cpp runs EAGLE-3 with one"
    for part, tensor in (("embedding", "token_embd.weight"), ("output", "output.weight")):
        if tensor not in drafter.tensors and drafter.n_embd != target.n_embd:
            return f"it borrows the target's {part}, whose width is {target.n_embd} and not {drafter.n_embd}"
    return _layers_mismatch(target, layers, last=target.architecture in SHOWS_LAST_STATE)


def _block_mismatch(target: Header, drafter: Header) -> str | None:
    layers = _target_layers(drafter)
    if not layers:
        return "it does not name the layers of its target that it reads"
    mask = drafter.metadata.get("tokenizer.ggml.mask_token_id")
    n_tokens = drafter.vocabulary.size if drafter.vocabulary else 0
    if not isinstance(mask, int) or not 0 <= mask < n_tokens:
        return "it has no mask token, which stands for the tokens to be proposed"
    block = drafter.metadata.get("dflash.block_size", _DEFAULT_BLOCK)
    if not isinstance(block, int) or not _LEAST_BLOCK <= block <= _MOST_BLOCK:
        return f"its blocks have {block} tokens, and {_LEAST_BLOCK} to {_MOST_BLOCK} can be run"
    return _layers_mismatch(target, layers, last=False)


def _layers_mismatch(target: Header, layers: tuple[int, ...], *, last: bool) -> str | None:
    """Why the target cannot show these layers.

    Args:
        target: the target.
        layers: which; the number of all layers stands for what leaves the last one.
        last: it can show that too.
    """
    if target.architecture not in SHOWS_LAYERS:
        return f"llama.cpp does not give out the states of the layers of {target.architecture}"
    n_layers = (target.n_layers or 0) - target.nextn_predict_layers
    unknown = [layer for layer in layers if not 0 <= layer <= n_layers]
    if unknown:
        return f"it reads layer {unknown[0]} of its target, this one has {n_layers}"
    if max(layers) == n_layers and not last:
        return (
            f"llama.cpp does not give out the last state of {target.architecture}, which it reads"
        )
    return None


def _target_layers(drafter: Header) -> tuple[int, ...] | None:
    """The layers of its target that a drafter reads; None if its file does not say."""
    value = drafter.metadata.get(f"{drafter.architecture}.target_layers")
    if not isinstance(value, tuple) or not all(type(layer) is int for layer in value):
        return None
    return tuple(layer for layer in value if isinstance(layer, int))


def _target_width(drafter: Header) -> Small | None:
    """Width of the hidden states that a drafter expects from its target."""
    if drafter.architecture == "eagle3":
        return drafter.metadata.get("eagle3.target_hidden_size")
    return drafter.n_embd_out or drafter.n_embd
