"""Recurrent and hybrid architectures: mamba, qwen35, lfm2, falcon-h1."""

from tests.tiny.blocks import Attention, attention, embedding, feed_forward
from tests.tiny.model import Shape, TinyModel
from tests.tiny.transformers import head_dims


def mamba(model: TinyModel) -> None:
    """State space only."""
    shape = Shape(n_head=0, n_head_kv=0, n_ff=0)
    n_inner, n_state, n_step, n_conv = 2 * shape.n_embd, 8, 4, 4
    model.sizes(
        shape,
        ssm__conv_kernel=n_conv,
        ssm__inner_size=n_inner,
        ssm__state_size=n_state,
        ssm__time_step_rank=n_step,
    )
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        block = f"blk.{layer}."
        model.ones(block + "attn_norm.weight", shape.n_embd)
        model.random(block + "ssm_in.weight", shape.n_embd, 2 * n_inner)
        model.random(block + "ssm_conv1d.weight", n_conv, n_inner)
        model.random(block + "ssm_conv1d.bias", n_inner)
        model.random(block + "ssm_x.weight", n_inner, n_step + 2 * n_state)
        model.random(block + "ssm_dt.weight", n_step, n_inner)
        model.random(block + "ssm_dt.bias", n_inner)
        model.decays(block + "ssm_a", n_state, n_inner)
        model.ones(block + "ssm_d", n_inner)
        model.random(block + "ssm_out.weight", n_inner, shape.n_embd)


def qwen35(model: TinyModel) -> None:
    """Gated delta net and full attention in turn, and one MTP block."""
    _qwen35(model, n_nextn=1)


def qwen35_without_mtp(model: TinyModel) -> None:
    """The same trunk without the MTP block."""
    _qwen35(model, n_nextn=0)


def _qwen35(model: TinyModel, n_nextn: int) -> None:
    shape = Shape(n_layer=2 + n_nextn)
    n_trunk = shape.n_layer - n_nextn
    n_state, n_key_heads, n_value_heads = 16, 2, 4
    model.sizes(
        shape,
        rope__dimension_sections=[2, 2, 2, 2],
        rope__dimension_count=shape.head_dim,
        ssm__conv_kernel=4,
        ssm__state_size=n_state,
        ssm__group_count=n_key_heads,
        ssm__time_step_rank=n_value_heads,
        ssm__inner_size=n_state * n_value_heads,
        full_attention_interval=2,
        **head_dims(shape),
    )
    if n_nextn:
        model.metadata["nextn_predict_layers"] = n_nextn
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        block = f"blk.{layer}."
        if layer < n_trunk and layer % 2 == 0:
            model.ones(block + "attn_norm.weight", shape.n_embd)
            _delta_net(model, layer, shape, (n_state, n_key_heads, n_value_heads))
        else:
            attention(model, layer, shape, Attention(qk_norm=True, gated=True))
        model.ones(block + "post_attention_norm.weight", shape.n_embd)
        feed_forward(model, layer, shape, norm="")
        if layer >= n_trunk:
            model.random(block + "nextn.eh_proj.weight", 2 * shape.n_embd, shape.n_embd)
            for norm in ("enorm", "hnorm", "shared_head_norm"):
                model.ones(f"{block}nextn.{norm}.weight", shape.n_embd)


def _delta_net(model: TinyModel, layer: int, shape: Shape, sizes: tuple[int, int, int]) -> None:
    block = f"blk.{layer}."
    n_state, n_key_heads, n_value_heads = sizes
    n_inner = n_state * n_value_heads
    n_conv = 2 * n_state * n_key_heads + n_inner
    model.random(block + "attn_qkv.weight", shape.n_embd, n_conv)
    model.random(block + "attn_gate.weight", shape.n_embd, n_inner)
    model.random(block + "ssm_conv1d.weight", 4, n_conv)
    model.random(block + "ssm_dt.bias", n_value_heads)
    model.decays(block + "ssm_a", n_value_heads)
    model.random(block + "ssm_beta.weight", shape.n_embd, n_value_heads)
    model.random(block + "ssm_alpha.weight", shape.n_embd, n_value_heads)
    model.ones(block + "ssm_norm.weight", n_state)
    model.random(block + "ssm_out.weight", n_inner, shape.n_embd)


def lfm2(model: TinyModel) -> None:
    """Short convolution and full attention in turn."""
    shape = Shape(n_layer=4)
    n_head_kv = [shape.n_head_kv if layer % 2 else 0 for layer in range(shape.n_layer)]
    model.sizes(shape, attention__head_count_kv=n_head_kv, shortconv__l_cache=3)
    model.random("token_embd.weight", shape.n_embd, model.n_vocab, std=0.5)
    model.ones("token_embd_norm.weight", shape.n_embd)
    for layer in range(shape.n_layer):
        block = f"blk.{layer}."
        if n_head_kv[layer]:
            attention(model, layer, shape, Attention(qk_norm=True))
        else:
            model.ones(block + "attn_norm.weight", shape.n_embd)
            model.random(block + "shortconv.conv.weight", 3, shape.n_embd)
            model.random(block + "shortconv.in_proj.weight", shape.n_embd, 3 * shape.n_embd)
            model.random(block + "shortconv.out_proj.weight", shape.n_embd, shape.n_embd)
        feed_forward(model, layer, shape)


def falcon_h1(model: TinyModel) -> None:
    """State space and attention side by side in every layer."""
    shape = Shape()
    n_inner, n_state, n_heads, n_groups, kernel = 64, 16, 4, 1, 4
    n_conv = n_inner + 2 * n_groups * n_state
    model.sizes(
        shape,
        ssm__conv_kernel=kernel,
        ssm__inner_size=n_inner,
        ssm__state_size=n_state,
        ssm__time_step_rank=n_heads,
        ssm__group_count=n_groups,
    )
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        block = f"blk.{layer}."
        model.random(block + "ssm_in.weight", shape.n_embd, n_inner + n_conv + n_heads)
        model.random(block + "ssm_conv1d.weight", kernel, n_conv)
        model.random(block + "ssm_conv1d.bias", n_conv)
        model.random(block + "ssm_dt.bias", n_heads)
        model.decays(block + "ssm_a", 1, n_heads)
        model.ones(block + "ssm_d", 1, n_heads)
        model.random(block + "ssm_out.weight", n_inner, shape.n_embd)
        attention(model, layer, shape)
        # llama.cpp reads this norm without ".weight"
        feed_forward(model, layer, shape, norm="ffn_norm")
