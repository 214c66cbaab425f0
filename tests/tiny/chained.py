"""Targets with several MTP heads in a row, one trained for each step of a draft: step35, mimo2, hy_v3."""

from tests.tiny.blocks import Attention, attention, embedding, feed_forward
from tests.tiny.model import Shape, TinyModel
from tests.tiny.transformers import WINDOW, head_dims

N_TRUNK = 2
"""Layers of the target itself: one with a plain feed-forward, one with experts."""

N_HEADS = 3
"""MTP layers after them."""

N_EXPERTS, N_USED, N_FF_EXPERT = 4, 2, 32


def step35(model: TinyModel) -> None:
    """A window and full attention in turn, gates on the heads; MTP layers with a window, without experts."""
    shape = _sizes(model, expert_shared_feed_forward_length=N_FF_EXPERT, **_windows())
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True))
        model.random(f"blk.{layer}.attn_gate.weight", shape.n_embd, shape.n_head)
        if layer == N_TRUNK - 1:
            experts(model, layer, shape, shared=True)
        else:
            feed_forward(model, layer, shape)
    _heads(model, shape)


def mimo2(model: TinyModel) -> None:
    """A window and full attention in turn; MTP layers with a window, without experts.

    llama.cpp aborts on MTP layers of this architecture whose query, key and value are not one matrix.
    """
    shape = _sizes(model, **_windows())
    n_qkv = (shape.n_head + 2 * shape.n_head_kv) * shape.head_dim
    for layer in range(shape.n_layer):
        block = f"blk.{layer}."
        model.ones(block + "attn_norm.weight", shape.n_embd)
        model.random(block + "attn_qkv.weight", shape.n_embd, n_qkv)
        model.random(block + "attn_output.weight", shape.n_head * shape.head_dim, shape.n_embd)
        if layer == N_TRUNK - 1:
            experts(model, layer, shape)
        else:
            feed_forward(model, layer, shape)
    _heads(model, shape)


def hy_v3(model: TinyModel) -> None:
    """Full attention; MTP layers with experts. Its states come after the last norm."""
    shape = _sizes(model, expert_shared_feed_forward_length=N_FF_EXPERT)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True))
        if layer:
            experts(model, layer, shape, shared=True)
        else:
            feed_forward(model, layer, shape)
    _heads(model, shape)


def experts(model: TinyModel, layer: int, shape: Shape, *, shared: bool = False) -> None:
    """The routed experts of one layer, with one more that is always used where `shared`."""
    block = f"blk.{layer}."
    model.ones(block + "ffn_norm.weight", shape.n_embd)
    model.random(block + "ffn_gate_inp.weight", shape.n_embd, N_EXPERTS)
    for name, n in (("exps", (N_EXPERTS,)), ("shexp", ()))[: 1 + shared]:
        model.random(f"{block}ffn_gate_{name}.weight", shape.n_embd, N_FF_EXPERT, *n)
        model.random(f"{block}ffn_up_{name}.weight", shape.n_embd, N_FF_EXPERT, *n)
        model.random(f"{block}ffn_down_{name}.weight", N_FF_EXPERT, shape.n_embd, *n)


def _windows() -> dict[str, int | list[bool]]:
    pattern = [True, False, *[True] * N_HEADS]
    return {"attention__sliding_window": WINDOW, "attention__sliding_window_pattern": pattern}


def _sizes(model: TinyModel, **changed: int | list[bool]) -> Shape:
    shape = Shape(n_layer=N_TRUNK + N_HEADS, n_ff=64)
    model.sizes(
        shape,
        nextn_predict_layers=N_HEADS,
        expert_count=N_EXPERTS,
        expert_used_count=N_USED,
        expert_feed_forward_length=N_FF_EXPERT,
        **head_dims(shape),
        **changed,
    )
    embedding(model, shape.n_embd, tied=False)
    return shape


def _heads(model: TinyModel, shape: Shape) -> None:
    for layer in range(N_TRUNK, shape.n_layer):
        block = f"blk.{layer}.nextn."
        model.random(block + "eh_proj.weight", 2 * shape.n_embd, shape.n_embd)
        for norm in ("enorm", "hnorm", "shared_head_norm"):
            model.ones(f"{block}{norm}.weight", shape.n_embd)
