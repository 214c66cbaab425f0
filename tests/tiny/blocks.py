"""The parts most architectures are made of: embedding, attention, feed-forward."""

from dataclasses import dataclass

from tests.tiny.model import Shape, TinyModel


@dataclass(frozen=True, slots=True)
class Attention:
    """How an architecture's attention differs from llama's.

    Attributes:
        qk_norm: norms on query and key heads.
        post_norm: a norm after the block (and, in `feed_forward`, after that).
        bias: biases on query, key and value.
        own_kv: has key and value projections (a drafter on borrowed KV has none).
        gated: the query projection carries a gate, so it is twice as wide.
        n_in: width of its input; None takes the model's.
    """

    qk_norm: bool = False
    post_norm: bool = False
    bias: bool = False
    own_kv: bool = True
    gated: bool = False
    n_in: int | None = None


PLAIN = Attention()

POST_NORM = 4.0
"""Gain of the norms after a block. The gemmas scale the embedding by sqrt(n_embd), so with a gain of
1 the last token alone decides, and a fault in the memory of the others would go unseen."""


def embedding(model: TinyModel, n_embd: int, *, tied: bool = True) -> None:
    """Token embedding, last norm and, where not tied, the output matrix."""
    model.random("token_embd.weight", n_embd, model.n_vocab, std=0.5)
    model.ones("output_norm.weight", n_embd)
    if not tied:
        model.random("output.weight", n_embd, model.n_vocab)


def attention(model: TinyModel, layer: int, shape: Shape, kind: Attention = PLAIN) -> None:
    """The attention of one layer with the norms around it."""
    block = f"blk.{layer}."
    n_in = kind.n_in or shape.n_embd
    n_q = shape.n_head * shape.head_dim
    n_kv = shape.n_head_kv * shape.head_dim
    model.ones(block + "attn_norm.weight", shape.n_embd)
    model.random(block + "attn_q.weight", n_in, n_q * (2 if kind.gated else 1))
    if kind.own_kv:
        model.random(block + "attn_k.weight", n_in, n_kv)
        model.random(block + "attn_v.weight", n_in, n_kv)
    model.random(block + "attn_output.weight", n_q, shape.n_embd)
    if kind.bias:
        model.random(block + "attn_q.bias", n_q)
        model.random(block + "attn_k.bias", n_kv)
        model.random(block + "attn_v.bias", n_kv)
    if kind.qk_norm:
        model.ones(block + "attn_q_norm.weight", shape.head_dim)
        if kind.own_kv:
            model.ones(block + "attn_k_norm.weight", shape.head_dim)
    if kind.post_norm:
        model.ones(block + "post_attention_norm.weight", shape.n_embd, value=POST_NORM)


def feed_forward(
    model: TinyModel, layer: int, shape: Shape, *, norm: str = "ffn_norm.weight", post: bool = False
) -> None:
    """The gated feed-forward of one layer; an empty `norm` leaves the norm before it out."""
    block = f"blk.{layer}."
    if norm:
        model.ones(block + norm, shape.n_embd)
    model.random(block + "ffn_gate.weight", shape.n_embd, shape.n_ff)
    model.random(block + "ffn_up.weight", shape.n_embd, shape.n_ff)
    model.random(block + "ffn_down.weight", shape.n_ff, shape.n_embd)
    if post:
        model.ones(block + "post_ffw_norm.weight", shape.n_embd, value=POST_NORM)
