"""Targets whose text is known in advance, and drafters that know it.

That is qwen3, or another target whose layers are read, with eagle3 or one of the dflash kind, and the
targets with heads in a row.

Block drafters see none of the tokens they draft, so it is not enough that the next token depends on the
last one alone. Here each byte has one successor, all of them in one long cycle, and the embedding of a
token holds the codes of the next tokens as well: `AHEAD` blocks of `CODE` numbers after one constant.
The target's output reads the first block. DFlash borrows that embedding; its heads look back by 1, 2, 3, ...
places, so a mask some places after the last token meets it with just one of them, which copies the block
that stands for this place into the first one.

A code is the code of a class of four tokens and the code of a member. DFlash2 copies that of the class alone:
its candidates are the four of a class, and only the selector, which knows the token before, can tell which.

Heads in a row count the steps in their state, and each of them is right at its own step alone.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tests.tiny.model import Shape, Tensor, TinyModel
from tests.tiny.vocabulary import MASK, N_BYTES

CODE, CLASS = 8, 5
"""Numbers of a code, and those of them that tell the class."""

AHEAD = 7
"""Tokens known in advance: the masks of a block of eight."""

SHARPNESS = 8.0
"""Of the target's distribution: at strength 0 the right token has nine tenths of it."""

SCALE = np.sqrt(0.5)
"""Of the embedding: its rows are as long as those of the other tiny models, so that blocks weigh the same."""

FOCUS = 120.0
"""Of the heads that look at one place: others get no weight that 32 bits could hold."""

WIDTH = Shape().n_embd
FIRST = slice(1, 1 + CODE)
"""The block that an output matrix reads."""

STEP = WIDTH - 1
"""Where a state counts the steps of a draft, in units of the constant; in the target's own it is 0."""

IN_A_ROW = ("step35", "mimo2", "hy_v3")
FAMILY = ("qwen3", "eagle3", "dflash", *IN_A_ROW)
"""Architectures that are always taught so; others are where a `Variant` names layers."""


def teach(model: TinyModel, strength: float) -> None:
    """Write the codes into a target or one of its drafters; what its weights did before stays by `strength`.

    The last matrices of its blocks must have been faded already (`drafters.agree`).
    """
    if model.architecture == "eagle3":
        _eagle3(model, strength)
    elif "markov_w1.weight" in model.tensors:
        _markov(model, ("markov_w1.weight", "markov_w2.weight"))
    elif model.architecture == "dflash":
        _dflash(model, strength)
    else:
        _target(model)
        _heads(model)


def _target(model: TinyModel) -> None:
    """The successor of the last token, from the first block of its embedding."""
    n_vocab = model.n_vocab
    embedding, output = _zeros(n_vocab, WIDTH), _zeros(n_vocab, WIDTH)
    embedding[:, 0] = 1
    for i in range(AHEAD):
        embedding[:, 1 + i * CODE : 1 + (i + 1) * CODE] = _codes(n_vocab, i)
    embedding[MASK, 1:] = 0
    embedding *= SCALE
    output[:, FIRST] = SHARPNESS * _successors(n_vocab)
    model.tensors |= {"token_embd.weight": embedding, "output.weight": output}


def _heads(model: TinyModel) -> None:
    """Each head passes the token through, adds 1 to the count, and spoils the code if that was not its own."""
    names = sorted(name for name in model.tensors if name.endswith("nextn.eh_proj.weight"))
    for i, name in enumerate(names):
        # how much longer a state is with the count than without
        before, after = (np.sqrt(1 + n**2 / (1 + AHEAD)) for n in (i, i + 1))
        of_token, of_state = np.eye(WIDTH), _zeros(WIDTH, WIDTH)
        of_state[STEP, [STEP, 0]] = before
        of_state[FIRST, [STEP]], of_state[FIRST, 0] = 1, -i
        model.tensors[name] = np.concatenate([of_token, of_state], 1).astype(np.float32)
        model.tensors[name.replace("eh_proj", "shared_head_norm")] *= after


def _eagle3(model: TinyModel, strength: float) -> None:
    """Its one layer copies the code of the last token; the states it reads come in by `strength`."""
    n_vocab, width = model.tensors["output.weight"].shape
    embedding, output = _zeros(n_vocab, width), _zeros(n_vocab, width)
    embedding[:, 0], embedding[:, FIRST] = 1, _codes(n_vocab, 0)
    # as sharp as the target's
    output[:, :CODE] = SHARPNESS / 2 * _successors(n_vocab)
    model.tensors |= {"token_embd.weight": embedding, "output.weight": output}
    for name in ("blk.0.attn_q.weight", "blk.0.attn_k.weight"):
        # a constant for query and key: the score falls with the distance
        model.tensors[name][:, :width] = 0
        model.tensors[name][:, 0] = 4
    value = np.zeros_like(model.tensors["blk.0.attn_v.weight"])
    back = np.zeros_like(model.tensors["blk.0.attn_output.weight"])
    value[:CODE, FIRST] = back[:CODE, :CODE] = np.eye(CODE)
    _add(model, "blk.0.attn_v.weight", value, strength)
    _add(model, "blk.0.attn_output.weight", back)
    # its own state must not be added to the next one as it is
    model.metadata["norm_before_residual"] = True
    model.tensors["blk.0.attn_norm_2.weight"] *= strength


def _dflash(model: TinyModel, strength: float) -> None:
    """DFlash, or DFlash2 with its convolutions as good as absent."""
    selects = "selector_hidden.weight" in model.tensors
    constant = np.zeros_like(model.tensors["fc.weight"])
    constant[0, 0] = 1
    _add(model, "fc.weight", constant, strength)
    for layer in range(Shape().n_layer):
        _look_back(model, layer, strength, CLASS if selects else CODE)
    # as sharp as the target, whose last norm sees all blocks beside the constant; here it sees one
    model.tensors["output_norm.weight"] *= np.sqrt((SCALE**2 + 1 + AHEAD) / WIDTH)
    if not selects:
        return
    _markov(model, ("selector_predecessor.weight", "selector_successor.weight"))
    gate = np.zeros_like(model.tensors["selector_hidden.weight"])
    gate[:, 0] = 1 / SCALE
    _add(model, "selector_hidden.weight", gate, strength)
    for name, tensor in list(model.tensors.items()):
        if name.endswith("_conv_base"):
            alone = np.zeros_like(tensor)
            alone[:, 0] = 1
            _add(model, name, alone, strength)
        elif name.endswith("_conv_proj.weight"):
            model.tensors[name] *= strength


def _look_back(model: TinyModel, layer: int, strength: float, n_copied: int) -> None:
    """Each head of a layer copies a block of the token that is a certain number of places before."""
    shape, block = Shape(), f"blk.{layer}.attn_"
    dim, half = shape.head_dim, shape.head_dim // 2
    query, back = _zeros(WIDTH, WIDTH), _zeros(WIDTH, WIDTH)
    key, value = _zeros(WIDTH // 2, WIDTH), _zeros(WIDTH // 2, WIDTH)
    key.reshape(-1, dim, WIDTH)[:, :half, 0] = 1
    for head in range(shape.n_head):
        distance = layer * shape.n_head + head + 1
        # turned back by the distance, so that the score is highest there
        angles = distance * 10000.0 ** (-np.arange(half) / half)
        query[head * dim : (head + 1) * dim, 0] = [*np.cos(angles), *-np.sin(angles)]
        if distance <= AHEAD:
            # two heads share a value: a half for each
            mine = CODE * (head % 2) + np.arange(CODE)
            value[head // 2 * dim + mine, 1 + CODE * (distance - 1) + np.arange(CODE)] = 1
            back[1 + np.arange(n_copied), head * dim + mine[:n_copied]] = 1
    for name, built in {"q": query, "k": key, "v": value}.items():
        _add(model, f"{block}{name}.weight", built, strength)
    _add(model, block + "output.weight", back)
    model.tensors[block + "q_norm.weight"] *= FOCUS


def _markov(model: TinyModel, names: tuple[str, str]) -> None:
    """The target's own logits after any token, as a product of two matrices."""
    n_vocab = model.n_vocab
    # what the target's last norm makes of its embedding
    scaled = SHARPNESS * np.sqrt(WIDTH / (1 + AHEAD))
    model.tensors[names[0]] = _codes(n_vocab, 0)
    model.tensors[names[1]] = (scaled * _successors(n_vocab)).astype(np.float32)


def _codes(n_vocab: int, ahead: int) -> Tensor:
    """For each token the code of the one `ahead` places after it; shape (n_vocab, CODE)."""
    order, codes = _book()
    places = np.argsort(order)[np.arange(n_vocab) % N_BYTES]
    return codes[order[(places + ahead) % N_BYTES]]


def _successors(n_vocab: int) -> Tensor:
    """For each token the code of the one before it, 0 where none is; shape (n_vocab, CODE)."""
    rows = _codes(n_vocab, -1)
    rows[N_BYTES:] = 0
    return rows


@cache
def _book() -> tuple[NDArray[np.int64], Tensor]:
    """The cycle of all bytes, and the code of each, of length 1; shapes (256,) and (256, CODE)."""
    rng = np.random.default_rng(1)
    order = rng.permutation(N_BYTES)
    classes = np.zeros((N_BYTES // 4, CLASS))
    for i in range(len(classes)):
        # of many, the one that is farthest from all before
        some = rng.standard_normal((200, CLASS))
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        classes[i] = some[(some @ classes[:i].T).max(axis=1, initial=-1).argmin()]
    members = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    by_class = np.repeat(classes, 4, axis=0) * np.sqrt(0.8)
    by_member = np.tile(members, (len(classes), 1)) * np.sqrt(0.2)
    return order, np.concatenate([by_class, by_member], axis=1).astype(np.float32)


def _zeros(*shape: int) -> Tensor:
    return np.zeros(shape, np.float32)


def _add(model: TinyModel, name: str, built: Tensor, strength: float = 1.0) -> None:
    """Put a matrix in the place of another, of which `strength` stays."""
    model.tensors[name] = (built + strength * model.tensors[name]).astype(np.float32)
