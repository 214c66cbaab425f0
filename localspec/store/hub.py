"""Which file of a Hub repo is meant: answered from the cache where it can be, else by the Hub.

It fetches no weights: `download.py` does. What it returns is a `FileSource`, as recipes have it.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import HfApi, constants, try_to_load_from_cache
from huggingface_hub.file_download import repo_folder_name

from localspec.errors import LocalspecError
from localspec.sources import FileSource
from localspec.store.faults import HubUnreachableError, hub_cache, hub_faults, not_here
from localspec.store.names import choose, choose_head, split_parts
from localspec.store.refs import HubFile, HubRepo

MAIN = constants.DEFAULT_REVISION


def is_offline(asked: bool = False) -> bool:
    """Whether nothing may be fetched: asked for by a flag, or by HF_HUB_OFFLINE."""
    return asked or constants.is_offline_mode()


def resolve(ref: HubFile | HubRepo, *, offline: bool = False, fresh: bool = False) -> FileSource:
    """The file that `ref` means; of a split model, part 1.

    A repo whose fitting file is in the cache is answered from there. With `fresh` (what `pull`
    wants) the Hub is asked first, and the cache only if the Hub cannot be reached.

    Raises:
        NotFoundError: no such repo or quantization; or not cached while offline.
        UsageError: several files fit.
        LocalspecError: the Hub cannot be reached, or refuses.
    """
    if isinstance(ref, HubFile):
        return FileSource(repo=ref.repo, file=ref.file)
    return resolve_with_head(ref, offline=offline, fresh=fresh)[0]


def resolve_with_head(
    ref: HubRepo, *, offline: bool = False, fresh: bool = False
) -> tuple[FileSource, FileSource | None]:
    """As `resolve`, and the file beside it that drafts for it, if there is one.

    Raises: as `resolve`.
    """
    offline = is_offline(offline)
    cached = _cached_choice(ref)
    if cached is not None and (offline or not fresh):
        return _with_head(ref, cached, cached_files(ref.repo))
    if offline:
        raise not_here([f"{ref.repo}:{ref.quant}" if ref.quant else ref.repo], [hub_cache()])
    try:
        files = list_files(ref.repo)
    except HubUnreachableError:
        if cached is None:
            raise
        return _with_head(ref, cached, cached_files(ref.repo))
    return _with_head(ref, choose(ref.repo, files, ref.quant), files)


def list_files(repo: str) -> list[str]:
    """Names of all files of `repo` on the Hub, folders included in the name.

    Raises: as `faults.hub_faults`.
    """
    with hub_faults(repo, None):
        info = HfApi().model_info(repo, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    return [sibling.rfilename for sibling in info.siblings or []]


def cached_files(repo: str) -> list[str]:
    """Names of the GGUF files of `repo` that lie in the Hugging Face cache (branch main)."""
    storage = storage_dir(repo)
    ref = storage / "refs" / MAIN
    if not ref.is_file():
        return []
    snapshot = storage / "snapshots" / ref.read_text(encoding="utf-8").strip()
    return [path.relative_to(snapshot).as_posix() for path in sorted(snapshot.rglob("*.gguf"))]


def find_cached(source: FileSource) -> Path | None:
    """Where the Hub file of `source` lies in the cache, whole; None if it does not.

    One revision of a repo is as good as another if the bytes are the same, which the cache tells
    by the blob's name: the sha256.
    """
    if source.repo is None or source.file is None:
        return None
    found = try_to_load_from_cache(source.repo, source.file, revision=source.revision or MAIN)
    if isinstance(found, str) and _has_size(Path(found), source.size):
        return Path(found)
    if source.sha256 is None:
        return None
    for path in (storage_dir(source.repo) / "snapshots").glob("*"):
        file = path / source.file
        if file.resolve().name == source.sha256 and _has_size(file, source.size):
            return file
    return None


def storage_dir(repo: str) -> Path:
    """Folder of `repo` in the Hugging Face cache."""
    return hub_cache() / repo_folder_name(repo_id=repo, repo_type="model")


def parts_of(source: FileSource) -> tuple[FileSource, ...]:
    """`source` itself, or all parts of the split model whose first part it is."""
    folder, slash, name = (source.file or "").rpartition("/")
    parts = split_parts(name)
    if len(parts) == 1 or source.repo is None:
        return (source,)
    rest = (FileSource(source.repo, folder + slash + p, source.revision) for p in parts[1:])
    return (source, *rest)


def _has_size(path: Path, size: int | None) -> bool:
    return path.is_file() and (size is None or path.stat().st_size == size)


def _with_head(ref: HubRepo, target: str, files: list[str]) -> tuple[FileSource, FileSource | None]:
    head = choose_head(files, target)
    return FileSource(ref.repo, target), FileSource(ref.repo, head) if head else None


def _cached_choice(ref: HubRepo) -> str | None:
    files = cached_files(ref.repo)
    if not files:
        return None
    try:
        return choose(ref.repo, files, ref.quant)
    except LocalspecError:
        # None of what is here fits, or several do: the Hub's list decides.
        return None
