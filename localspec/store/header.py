"""What a model file says about itself, read in a fraction of a second without its weights.

`read_header` is called before anything is loaded or downloaded further: it answers whether the
file is whole, what it is, and (through `pairing.py` and `architectures.py`) what can be done with
it. Files in several parts are read as one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.store.fields import Fields, Small
from localspec.store.ggml_types import FILE_TYPES
from localspec.store.gguf_reader import PULL_AGAIN, Damage, GgufFile, Tensor, read_gguf
from localspec.store.limits import check_limits
from localspec.store.names import split_parts
from localspec.store.vocabulary import Vocabulary, read_vocabulary

GUESSED: Final = 1024
"""Bit of `general.file_type` that says it was not stated by the maker of the file."""

_TEMPLATE: Final = "tokenizer.chat_template"


MISSPELT: Final = {"gemma4_assistant": "gemma4-assistant"}
"""Architectures as some published files spell them -> as llama.cpp does."""


@dataclass(frozen=True, slots=True, eq=False)
class Header:
    """The facts of a model file.

    Attributes:
        path: the file, or the first of its parts.
        parts: all files it consists of, `path` first.
        size_bytes: of all parts together.
        version: of the GGUF format.
        architecture: `general.architecture`.
        stated_architecture: as the file spells it; differs only where its other keys have it right.
        name: `general.name`, or the file's name without its ending.
        kind: `general.type`: "model", "adapter", "mmproj", "imatrix", …
        quantization: "Q4_K_M", "F16", …; the type of most weights where the file states none.
        context_length: tokens the model was trained for.
        n_layers: layers, MTP layers included.
        n_embd: width of a hidden state.
        n_embd_out: width of the hidden state it gives out (drafters; else None).
        n_head: attention heads, one number or one a layer.
        n_head_kv: key/value heads, one number or one a layer.
        sliding_window: tokens of the sliding window; None without one.
        causal: False for a model that reads text in both directions.
        pooling_type: how an embedding model pools (llama.h); None where not stated.
        nextn_predict_layers: MTP layers the file says it has.
        n_params: number of weights.
        products: types of the matrices that hidden states are multiplied by ("Q4_K", "F16", …).
        vocabulary: the tokenizer; None if the file has none.
        template: the default chat template (Jinja); None without one.
        named_templates: further chat templates by name.
        sampling: `general.sampling.*` without that prefix: what the maker recommends.
        tensors: names of all tensors.
        metadata: every key whose value is small.
    """

    path: Path
    parts: tuple[Path, ...]
    size_bytes: int
    version: int
    architecture: str
    stated_architecture: str
    name: str
    kind: str
    quantization: str
    context_length: int | None
    n_layers: int | None
    n_embd: int | None
    n_embd_out: int | None
    n_head: int | tuple[int, ...] | None
    n_head_kv: int | tuple[int, ...] | None
    sliding_window: int | None
    causal: bool
    pooling_type: int | None
    nextn_predict_layers: int
    n_params: int
    products: frozenset[str]
    vocabulary: Vocabulary | None
    template: str | None
    named_templates: Mapping[str, str]
    sampling: Mapping[str, float]
    tensors: frozenset[str] = field(repr=False)
    metadata: Mapping[str, Small] = field(repr=False)


def read_header(path: Path) -> Header:
    """Read the header of a model file, and check that the file and all its parts are whole.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedFileError: the file is damaged, truncated, incomplete or not a GGUF that can be
            read here. Whether a sound file can be *run* is asked in `architectures.py`.
    """
    try:
        return _header(path)
    except Damage as damage:
        raise UnsupportedFileError(f"{path.name} is damaged: {damage}.", PULL_AGAIN) from damage


def _respelt(architecture: str, fields: Fields) -> str:
    """The architecture as llama.cpp spells it, if only its own key has it otherwise."""
    right = MISSPELT.get(architecture, architecture)
    return right if f"{right}.block_count" in fields.values else architecture


def _header(path: Path) -> Header:
    first = read_gguf(path)
    fields = Fields(first.fields)
    files = [first, *_further_parts(first, fields)]
    tensors = [tensor for file in files for tensor in file.tensors]
    stated = _clean(fields.text("general.architecture") or "")
    if not stated:
        raise Damage("it names no architecture")
    architecture = _respelt(stated, fields)

    def key(name: str) -> str:
        return f"{architecture}.{name}"

    check_limits(fields, architecture)
    return Header(
        path=path,
        parts=tuple(file.path for file in files),
        size_bytes=sum(file.size_bytes for file in files),
        version=first.version,
        architecture=architecture,
        stated_architecture=stated,
        name=_clean(fields.text("general.name") or "") or path.name.removesuffix(".gguf"),
        kind=_clean(fields.text("general.type") or "model"),
        quantization=_quantization(fields, tensors),
        context_length=fields.integer(key("context_length")),
        n_layers=fields.integer(key("block_count")),
        n_embd=fields.integer(key("embedding_length")),
        n_embd_out=fields.integer(key("embedding_length_out")),
        n_head=fields.per_layer(key("attention.head_count")),
        n_head_kv=fields.per_layer(key("attention.head_count_kv")),
        sliding_window=fields.integer(key("attention.sliding_window")) or None,
        causal=fields.flag(key("attention.causal")) is not False,
        pooling_type=fields.integer(key("pooling_type")),
        nextn_predict_layers=fields.integer(key("nextn_predict_layers")) or 0,
        products=_product_types(tensors),
        n_params=sum(tensor.n_elements for tensor in tensors),
        vocabulary=read_vocabulary(fields),
        template=fields.text(_TEMPLATE),
        named_templates=MappingProxyType(_texts_under(fields, _TEMPLATE + ".")),
        sampling=MappingProxyType(_sampling(fields)),
        tensors=frozenset(tensor.name for tensor in tensors),
        metadata=MappingProxyType(fields.small()),
    )


def _quantization(fields: Fields, tensors: list[Tensor]) -> str:
    stated = fields.integer("general.file_type")
    if stated is not None and stated & ~GUESSED in FILE_TYPES:
        return FILE_TYPES[stated & ~GUESSED]
    n_bytes: Counter[str] = Counter()
    for tensor in tensors:
        n_bytes[tensor.type] += tensor.n_bytes
    return n_bytes.most_common(1)[0][0] if n_bytes else "none"


def _product_types(tensors: list[Tensor]) -> frozenset[str]:
    """Types of the matrices that hidden states are multiplied by.

    Embeddings are looked up, not multiplied by, unless they serve as the output too; convolutions and
    norms have kernels of their own.
    """
    names = {tensor.name for tensor in tensors}
    tied = "output.weight" not in names
    return frozenset(
        tensor.type
        for tensor in tensors
        if tensor.n_dims > 1
        and tensor.name.endswith(".weight")
        and ("_embd" not in tensor.name or (tied and tensor.name == "token_embd.weight"))
        and "conv" not in tensor.name
    )


def _texts_under(fields: Fields, prefix: str) -> dict[str, str]:
    names = [key for key in fields.values if key.startswith(prefix)]
    return {name.removeprefix(prefix): fields.text(name) or "" for name in names}


def _sampling(fields: Fields) -> dict[str, float]:
    prefix = "general.sampling."
    keys = [key for key in fields.values if key.startswith(prefix)]
    values = {key.removeprefix(prefix): fields.values[key] for key in keys}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _clean(text: str) -> str:
    """A name fit for a terminal: a file's control characters must not reach it."""
    return "".join(char for char in text if char.isprintable()).strip()


def _further_parts(first: GgufFile, fields: Fields) -> list[GgufFile]:
    """Read the parts behind the first; a file in one piece has none."""
    count = fields.integer("split.count") or 0
    if count <= 1:
        return []
    number = fields.integer("split.no") or 0
    names = split_parts(first.path.name)
    if number >= count or len(names) != count or names[number] != first.path.name:
        raise UnsupportedFileError(
            f"{first.path.name} is part {number + 1} of {count} of a model, but is not named so.",
            f"Name the parts NAME-00001-of-{count:05}.gguf and so on, as they were published.",
        )
    if number:
        raise UnsupportedFileError(
            f"{first.path.name} is part {number + 1} of {count} of a model.",
            f"Name the first part instead: {first.path.with_name(names[0])}",
        )
    parts = [_part(first.path.with_name(name), place) for place, name in enumerate(names) if place]
    expected = fields.integer("split.tensors.count")
    n_tensors = sum(len(part.tensors) for part in [first, *parts])
    if expected is not None and n_tensors != expected:
        raise Damage(f"its parts hold {n_tensors} of {expected} tensors")
    return parts


def _part(path: Path, number: int) -> GgufFile:
    try:
        part = read_gguf(path)
    except NotFoundError as error:
        raise UnsupportedFileError(f"The part {path.name} is missing.", PULL_AGAIN) from error
    if Fields(part.fields).integer("split.no") != number:
        raise UnsupportedFileError(f"{path.name} is a part of another model.", PULL_AGAIN)
    return part
