"""Drafters that borrow from their target: gemma4's assistant, EAGLE-3, DFlash, a lone MTP block."""

import numpy as np

from tests.tiny import codebook
from tests.tiny.blocks import Attention, attention, embedding, feed_forward
from tests.tiny.model import Shape, TinyModel
from tests.tiny.recurrent import qwen35
from tests.tiny.transformers import WINDOW, head_dims

BLOCK_ENDS = (
    "attn_output.weight",
    "ssm_out.weight",
    "shortconv.out_proj.weight",
    "ffn_down.weight",
    "ffn_down_exps.weight",
    "ffn_down_shexp.weight",
)
"""The last matrix of each block."""

WEIGHT = {"gemma4": 1.5, "lfm2": 0.7}
"""Where blocks count for less or more beside the embedding than in other targets that agree by their layers:
with this one strength is as much for all."""

TARGET_WIDTH = Shape().n_embd
"""Hidden width of all tiny targets."""


def gemma4_assistant(model: TinyModel) -> None:
    """Reads gemma4's KV: its heads have the target's shape, its width must be another."""
    shape = Shape(n_embd=32, n_head_kv=1, n_ff=64)
    dim = shape.head_dim
    model.sizes(
        shape,
        embedding_length_out=TARGET_WIDTH,
        nextn_predict_layers=shape.n_layer,
        attention__sliding_window=WINDOW,
        attention__sliding_window_pattern=[True, False],
        attention__shared_kv_layers=shape.n_layer,
        embedding_length_per_layer_input=0,
        attention__key_length_swa=dim,
        attention__value_length_swa=dim,
        rope__freq_base=1e6,
        rope__freq_base_swa=1e4,
        rope__dimension_count=dim,
        rope__dimension_count_swa=dim,
        **head_dims(shape),
    )
    embedding(model, shape.n_embd)
    model.ones("rope_freqs.weight", dim // 2)
    model.random("nextn.pre_projection.weight", 2 * TARGET_WIDTH, shape.n_embd)
    model.random("nextn.post_projection.weight", shape.n_embd, TARGET_WIDTH)
    kind = Attention(qk_norm=True, post_norm=True, own_kv=False)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, kind)
        feed_forward(model, layer, shape, post=True)
        model.ones(f"blk.{layer}.layer_output_scale.weight", 1)


def eagle3(model: TinyModel) -> None:
    """Reads three layers of its target; fits the tiny qwen3 unless `Variant.layers` says otherwise."""
    shape = Shape(n_layer=1, n_embd=32, n_ff=64)
    model.sizes(
        shape,
        rope__dimension_count=shape.head_dim,
        target_layers=[0, 1, 3],
        target_hidden_size=TARGET_WIDTH,
        **head_dims(shape),
    )
    model.random("fc.weight", 3 * TARGET_WIDTH, shape.n_embd)
    model.ones("output_norm.weight", shape.n_embd)
    model.random("output.weight", shape.n_embd, model.n_vocab)
    model.random("token_embd.weight", shape.n_embd, model.n_vocab, std=0.5)
    model.ones("blk.0.attn_norm_2.weight", shape.n_embd)
    attention(model, 0, shape, Attention(n_in=2 * shape.n_embd))
    feed_forward(model, 0, shape)


def dflash(model: TinyModel) -> None:
    """Drafts blocks of eight; borrows the target's embedding and output; fits targets as `eagle3` does."""
    shape = Shape()
    layers = [1, 2, 3]
    model.sizes(
        shape,
        rope__dimension_count=shape.head_dim,
        block_size=8,
        target_layers=layers,
        **head_dims(shape),
    )
    model.random("fc.weight", len(layers) * shape.n_embd, shape.n_embd)
    model.ones("enc.output_norm.weight", shape.n_embd)
    model.ones("output_norm.weight", shape.n_embd)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True))
        feed_forward(model, layer, shape)


def dspark(model: TinyModel) -> None:
    """DFlash with a Markov head and a confidence head."""
    dflash(model)
    rank, n_embd = 8, TARGET_WIDTH
    model.random("markov_w1.weight", rank, model.n_vocab)
    model.random("markov_w2.weight", rank, model.n_vocab)
    model.random("conf_proj.weight", n_embd + rank, 1)


def dflash2(model: TinyModel) -> None:
    """DFlash with short convolutions and a selector: candidates for each place, and scores of their pairs.

    The candidates and the scores of a place must fit a state: top_k * (top_k + 1) <= n_embd.
    """
    dflash(model)
    n_embd, kernel, group, rank, top_k = TARGET_WIDTH, 3, 16, 8, 4
    model.metadata |= {
        "conv_kernel_size": kernel,
        "conv_group_size": group,
        "selector_rank": rank,
        "selector_top_k": top_k,
    }
    model.random("selector_predecessor.weight", rank, model.n_vocab)
    model.random("selector_successor.weight", rank, model.n_vocab)
    model.random("selector_hidden.weight", n_embd, rank)
    for layer in range(Shape().n_layer):
        for part in ("attn", "ffn"):
            conv = f"blk.{layer}.{part}_conv_"
            # llama.cpp reads the base without ".weight"
            model.random(conv + "base", n_embd, kernel, 2)
            model.random(conv + "proj.weight", n_embd, 2 * kernel * (n_embd // group))


def qwen35_mtp(model: TinyModel) -> None:
    """The MTP block of qwen35 in a file of its own."""
    qwen35(model)
    for name in list(model.tensors):
        if name.startswith(("blk.0.", "blk.1.")):
            del model.tensors[name]


def agree(model: TinyModel, strength: float, *, by_layers: bool = False) -> None:
    """Make a target predictable from its last token, and a head predict just that.

    Blocks add `strength` of what they did. At 0 the next token depends on the last one alone, and the head,
    which passes the token through, is always right; the more they add, the less often it is.
    For eagle3 and the dflash kind with qwen3, or with any target if `by_layers`, and for heads in a row,
    see `codebook`.
    """
    gemma = model.architecture.startswith("gemma4")
    faded = ("post_attention_norm.weight", "post_ffw_norm.weight") if gemma else BLOCK_ENDS
    rest = strength * WEIGHT.get(model.architecture, 1.0) if by_layers else strength
    for name in model.tensors:
        if name.endswith(faded):
            model.tensors[name] *= rest
    if model.architecture == "gemma4":
        model.metadata["final_logit_softcapping"] = 0.0
    if by_layers or model.architecture in codebook.FAMILY:
        codebook.teach(model, strength)
        return
    output = np.random.default_rng(1).standard_normal((model.n_vocab, TARGET_WIDTH))
    output = (output * 0.5).astype(np.float32)
    if model.architecture == "gemma4-assistant":
        narrow = model.tensors["token_embd.weight"].shape[1]
        # the last norm of the target is taken over twice as many numbers, half of them zero
        scaled = output[:, :narrow] * np.sqrt(TARGET_WIDTH / narrow)
        model.tensors["token_embd.weight"] = scaled.astype(np.float32)
        model.tensors["nextn.pre_projection.weight"] = np.eye(
            narrow, 2 * TARGET_WIDTH, dtype=np.float32
        )
        model.tensors["nextn.post_projection.weight"] = np.eye(
            TARGET_WIDTH, narrow, dtype=np.float32
        )
        return
    model.tensors["output.weight"] = output
    if gemma:
        # what the assistant's width has no room for
        model.tensors["token_embd.weight"][:, TARGET_WIDTH // 2 :] = 0
    for name in model.tensors:
        if name.endswith("eh_proj.weight"):
            model.tensors[name] = np.eye(TARGET_WIDTH, 2 * TARGET_WIDTH, dtype=np.float32)
