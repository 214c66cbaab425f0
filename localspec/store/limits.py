"""Sizes in a header over which llama.cpp ends the process instead of reporting a failure.

Its asserts (`llama_model_base::load_hparams`, `ggml_rope`, `ggml_rms_norm`) are repeated here for
the keys that every architecture shares, so that a damaged file is an error and not an abort.
"""

import math
from typing import Final

from localspec.store.fields import Fields
from localspec.store.gguf_reader import Damage

MAX_LAYERS: Final = 512
MAX_EXPERTS: Final = 1024
"""LLAMA_MAX_LAYERS and LLAMA_MAX_EXPERTS."""

ROPE_SCALINGS: Final = ("none", "linear", "yarn", "longrope")

_LOOSE_EXPERTS: Final = frozenset({"hunyuan_vl", "hunyuan-dense"})
"""Dense architectures whose files may speak of one expert; llama.cpp lets them."""


def check_limits(fields: Fields, architecture: str) -> None:
    """Refuse what llama.cpp would abort over.

    Raises:
        Damage: naming the first value out of bounds.
    """
    prefix = architecture + "."
    _check_layers(fields, prefix)
    if architecture not in _LOOSE_EXPERTS:
        _check_experts(fields, prefix)
    _check_attention(fields, prefix)


def _check_layers(fields: Fields, prefix: str) -> None:
    n_layers = fields.integer(prefix + "block_count")
    n_nextn = fields.integer(prefix + "nextn_predict_layers") or 0
    n_ctx = fields.integer(prefix + "context_length") or 0
    if n_ctx >= 1 << 31:
        raise Damage(f"it is said to be trained for {n_ctx} tokens of context")
    if n_layers is not None and not 0 < n_layers <= MAX_LAYERS:
        raise Damage(f"it has {n_layers} layers")
    if n_layers is not None and n_nextn > n_layers:
        raise Damage(f"{n_nextn} of its {n_layers} layers are MTP layers")


def _check_experts(fields: Fields, prefix: str) -> None:
    n_experts = fields.integer(prefix + "expert_count") or 0
    used = fields.per_layer(prefix + "expert_used_count") or 0
    n_used = max(used, default=0) if isinstance(used, tuple) else used
    if n_experts > MAX_EXPERTS:
        raise Damage(f"it has {n_experts} experts")
    if n_used > n_experts or (n_experts and not n_used):
        raise Damage(f"it uses {n_used} of {n_experts} experts")
    n_groups = fields.integer(prefix + "expert_group_count") or 0
    n_groups_used = fields.integer(prefix + "expert_group_used_count") or 0
    sound = n_groups < max(n_experts, 1)
    if n_groups > 1:
        sound = sound and n_experts % n_groups == 0 and 0 < n_groups_used < n_groups
    if not sound:
        raise Damage(f"it uses {n_groups_used} of {n_groups} groups of {n_experts} experts")


def _check_attention(fields: Fields, prefix: str) -> None:
    scaling = fields.text(prefix + "rope.scaling.type")
    if scaling is not None and scaling not in ROPE_SCALINGS:
        raise Damage("its rope scaling is of an unknown type")
    for suffix in ("", "_swa"):
        n_rot = fields.integer(prefix + "rope.dimension_count" + suffix) or 0
        width = fields.integer(prefix + "attention.key_length" + suffix) or _width(fields, prefix)
        if n_rot % 2 or (width is not None and n_rot > width):
            raise Damage(f"it rotates {n_rot} dimensions of its attention heads")
    window = fields.values.get(prefix + "attention.sliding_window")
    if isinstance(window, int) and window >= 1 << 31:
        raise Damage(f"its sliding window has {window} tokens")
    for name in ("layer_norm_rms_epsilon", "layer_norm_epsilon"):
        epsilon = fields.number(f"{prefix}attention.{name}")
        if epsilon is not None and not (math.isfinite(epsilon) and epsilon >= 0):
            raise Damage(f"its {name} is {epsilon}")


def _width(fields: Fields, prefix: str) -> int | None:
    """Width of an attention head where the file does not state it."""
    n_embd = fields.integer(prefix + "embedding_length")
    n_head = fields.per_layer(prefix + "attention.head_count")
    if n_embd is None or not isinstance(n_head, int) or not n_head:
        return None
    return n_embd // n_head
