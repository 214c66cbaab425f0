"""Files that llama.cpp refuses over a word of metadata, and the word that makes it take them."""

from collections.abc import Mapping

from localspec.store.architectures import has_mtp_head
from localspec.store.header import Header

Overrides = Mapping[str, int | str]
"""Key of a file's metadata -> the value to read in its place (llama_model_kv_override)."""

_WANT_THEIR_HEAD = frozenset({"qwen35", "qwen35moe", "qwen3next"})
"""Architectures whose loader wants the MTP layers that a file announces, also where none is to be run."""


def overrides(header: Header) -> Overrides:
    """What must be read otherwise than it stands in the file; empty for most."""
    found: dict[str, int | str] = {}
    if header.stated_architecture != header.architecture:
        found["general.architecture"] = header.architecture
    architecture, n_heads = header.architecture, header.nextn_predict_layers
    if n_heads and architecture in _WANT_THEIR_HEAD and not has_mtp_head(header):
        # the layers were left out and the key was kept
        found[f"{architecture}.nextn_predict_layers"] = 0
        found[f"{architecture}.block_count"] = (header.n_layers or 0) - n_heads
    return found
