"""What can be done with a model, judged by its header: run it, or draft with it.

The lists are llama.cpp's (`src/llama-arch.cpp`, `src/llama-model.cpp`, 2026-10). An architecture
that is on none of them is not refused: llama.cpp says itself which it does not know, and a newer
one may know more.
"""

from typing import Final, Literal

from localspec.errors import UnsupportedFileError
from localspec.store.header import MISSPELT, Header

HeadKind = Literal["mtp", "eagle3", "dflash", "dspark"]
"""Drafters that read their target's states."""

EMBEDDING: Final = frozenset(
    {"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "eurobert"}
    | {"jina-bert-v2", "jina-bert-v3", "gemma-embedding", "llama-embed", "t5encoder"}
)
DIFFUSION: Final = frozenset({"dream", "llada", "llada-moe", "rnd1"})
SPEECH: Final = frozenset({"wavtokenizer-dec", "qwen3tts", "pockettts"})
_KINDS: Final = {
    "adapter": "an adapter (LoRA) for a model",
    "mmproj": "the image or sound encoder of a model",
    "imatrix": "a table of statistics for quantizing a model",
}


def unsupported_reason(header: Header) -> str | None:
    """Why the file cannot be run as a target, as the end of "FILE is …"; None if it may be."""
    architecture = header.architecture
    if header.kind in _KINDS:
        return f"{_KINDS[header.kind]}, not a model that can be run alone"
    if architecture == "clip":
        return "the image or sound encoder of a model, not a model that can be run alone"
    if architecture in EMBEDDING or (header.pooling_type or 0) > 0:
        return f"an embedding model ({architecture}): it turns text into vectors and writes none"
    if architecture in DIFFUSION:
        return f"a diffusion model ({architecture}), which does not write token by token"
    if architecture in SPEECH:
        return f"a speech model ({architecture}), which writes no text"
    if architecture == "t5":
        return "an encoder-decoder model (t5), which localspec cannot run"
    kind = sidecar_kind(header)
    if kind:
        return f"a drafter ({kind}), which only works beside its target"
    if not header.causal:
        return f"a model ({architecture}) that reads text in both directions and writes none"
    if not header.tensors:
        return "a vocabulary without weights"
    if "token_embd.weight" not in header.tensors:
        return "only a part of a model: its token embedding is not in the file"
    if header.vocabulary is None:
        return "a model without a vocabulary, so it cannot read text"
    return None


def require_runnable(header: Header) -> None:
    """Refuse a file that cannot be a target.

    Raises:
        UnsupportedFileError: with the reason of `unsupported_reason`.
    """
    reason = unsupported_reason(header)
    if reason is None:
        return
    hint = "Models that are known to work: localspec recipes"
    if sidecar_kind(header):
        hint = f"Give it as the drafter of its target: -m TARGET -d {header.path}"
    raise UnsupportedFileError(f"{header.path.name} is {reason}.", hint)


def sidecar_kind(header: Header) -> HeadKind | None:
    """The kind of drafter that the file is and nothing else; None for a complete model."""
    architecture = header.architecture
    if architecture.endswith("-assistant") or architecture in MISSPELT:
        return "mtp"
    if architecture == "eagle3":
        return "eagle3"
    if architecture == "dflash":
        return "dspark" if "markov_w1.weight" in header.tensors else "dflash"
    if has_mtp_head(header) and "blk.0.attn_norm.weight" not in header.tensors:
        return "mtp"
    return None


def has_mtp_head(header: Header) -> bool:
    """True if the file holds MTP layers: the key alone is not enough, some files keep only it."""
    if not header.nextn_predict_layers or header.n_layers is None:
        return False
    return f"blk.{header.n_layers - 1}.nextn.eh_proj.weight" in header.tensors
