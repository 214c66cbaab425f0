"""A tiny model in memory: metadata, tensors, and how they are written as a GGUF."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from tests.tiny.vocabulary import BYTES, CHATML, Vocabulary

Tensor = npt.NDArray[np.float32]
Value = int | float | bool | str | list[int] | list[bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a transformer: layers, widths and heads, in llama.cpp's names."""

    n_layer: int = 2
    n_embd: int = 64
    n_head: int = 4
    n_head_kv: int = 2
    n_ff: int = 128
    head_dim: int = 16


@dataclass(slots=True)
class TinyModel:
    """Metadata and random weights under construction.

    Attributes:
        architecture: `general.architecture`, prefix of the keys in `metadata`.
        rng: source of the weights; one seed gives one model.
        n_ctx: `<architecture>.context_length`.
        vocabulary: the tokenizer; None leaves it out.
        template: the chat template; None leaves it out.
        metadata: keys without the architecture's prefix.
        tensors: by name, float32; numpy's axis order, the reverse of ggml's.
    """

    architecture: str
    rng: np.random.Generator
    n_ctx: int = 2048
    vocabulary: Vocabulary | None = BYTES
    template: str | None = CHATML
    metadata: dict[str, Value] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @property
    def n_vocab(self) -> int:
        """Rows of the embedding."""
        return self.vocabulary.size if self.vocabulary else BYTES.size

    def random(self, name: str, *ne: int, std: float = 0.3) -> None:
        """Add a random tensor with ggml's dimensions `ne`, scaled by its fan-in ne[0]."""
        scale = std * 4 / np.sqrt(ne[0])
        self.tensors[name] = (self.rng.standard_normal(ne[::-1]) * scale).astype(np.float32)

    def ones(self, name: str, *ne: int, value: float = 1.0) -> None:
        """Add a tensor of one value (norms) with ggml's dimensions `ne`."""
        self.tensors[name] = np.full(ne[::-1], value, np.float32)

    def decays(self, name: str, *ne: int) -> None:
        """Add a random tensor of negative numbers (the A of a state space)."""
        self.tensors[name] = -np.abs(self.rng.standard_normal(ne[::-1])).astype(np.float32)

    def sizes(self, shape: Shape, **changed: Value) -> None:
        """Add the keys every architecture has; `changed` replaces or adds keys (`.` as `__`)."""
        self.metadata |= {
            "context_length": self.n_ctx,
            "embedding_length": shape.n_embd,
            "block_count": shape.n_layer,
            "feed_forward_length": shape.n_ff,
            "attention.head_count": shape.n_head,
            "attention.head_count_kv": shape.n_head_kv,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "vocab_size": self.n_vocab,
        }
        self.metadata |= {key.replace("__", "."): value for key, value in changed.items()}

    def save(self, path: Path) -> None:
        """Write the GGUF (version 3, little-endian, alignment 32)."""
        writer = gguf.GGUFWriter(path, self.architecture)
        writer.add_name(f"tiny-{self.architecture}")
        writer.add_file_type(gguf.LlamaFileType.ALL_F32)
        for key, value in self.metadata.items():
            _add(writer, f"{self.architecture}.{key}", value)
        if self.vocabulary:
            self.vocabulary.add_to(writer)
        if self.template is not None:
            writer.add_chat_template(self.template)
        for name, tensor in self.tensors.items():
            writer.add_tensor(name, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def _add(writer: gguf.GGUFWriter, key: str, value: Value) -> None:
    add: Any = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }[type(value)]
    add(key, value)


def perturbed(model: TinyModel, seed: int, eps: float) -> TinyModel:
    """A near copy: every matrix gets noise of `eps` standard deviations.

    As a drafter it has an acceptance one can choose: at depth 4, eps 0.02 gives about 3.0 tokens
    accepted, 0.05 gives 1.6, 0.1 gives 0.75 and 0.2 gives 0.2.
    """
    rng = np.random.default_rng(seed)
    noisy = {
        name: (tensor + eps * tensor.std() * rng.standard_normal(tensor.shape)).astype(np.float32)
        if tensor.ndim > 1
        else tensor
        for name, tensor in model.tensors.items()
    }
    return replace(model, tensors=noisy)
