"""Attention-only architectures: full (llama, qwen2, qwen3) and sliding-window (gemma3, gemma4)."""

from tests.tiny.blocks import Attention, attention, embedding, feed_forward
from tests.tiny.model import Shape, TinyModel

WINDOW = 32
"""Tokens of the sliding window of the gemma models."""


def llama(model: TinyModel) -> None:
    """Full attention, untied output."""
    shape = Shape()
    model.sizes(shape, rope__dimension_count=shape.head_dim)
    embedding(model, shape.n_embd, tied=False)
    for layer in range(shape.n_layer):
        attention(model, layer, shape)
        feed_forward(model, layer, shape)


def qwen2(model: TinyModel) -> None:
    """Full attention with biases."""
    shape = Shape()
    model.sizes(shape)
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(bias=True))
        feed_forward(model, layer, shape)


def qwen3(model: TinyModel) -> None:
    """Full attention with query and key norms."""
    shape = Shape(n_layer=4)
    model.sizes(shape, **head_dims(shape))
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True))
        feed_forward(model, layer, shape)


def gemma3(model: TinyModel) -> None:
    """Five sliding-window layers and one full one."""
    shape = Shape(n_layer=6, n_head_kv=1)
    model.sizes(shape, attention__sliding_window=WINDOW, **head_dims(shape))
    embedding(model, shape.n_embd)
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True, post_norm=True))
        feed_forward(model, layer, shape, post=True)


def gemma4(model: TinyModel) -> None:
    """Four sliding-window layers and one full one, with their own rope settings."""
    shape = Shape(n_layer=5, n_head_kv=1)
    dim = shape.head_dim
    model.sizes(
        shape,
        attention__sliding_window=WINDOW,
        attention__sliding_window_pattern=[True, True, True, True, False],
        attention__shared_kv_layers=0,
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
    for layer in range(shape.n_layer):
        attention(model, layer, shape, Attention(qk_norm=True, post_norm=True))
        feed_forward(model, layer, shape, post=True)
        model.ones(f"blk.{layer}.layer_output_scale.weight", 1)


def bert(model: TinyModel) -> None:
    """An embedding model by its header; not meant to be loaded."""
    shape = Shape()
    model.sizes(shape, pooling_type=2, attention__causal=False)
    model.random("token_embd.weight", shape.n_embd, model.n_vocab)
    model.random("position_embd.weight", shape.n_embd, model.n_ctx)
    for layer in range(shape.n_layer):
        attention(model, layer, shape)
        feed_forward(model, layer, shape)


def head_dims(shape: Shape) -> dict[str, int]:
    """Keys of architectures whose head width is not n_embd / n_head."""
    return {
        "attention__key_length": shape.head_dim,
        "attention__value_length": shape.head_dim,
    }
