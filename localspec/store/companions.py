"""Models on this machine that could draft for a target: found by size, name and header, none
loaded."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, NamedTuple

from localspec.errors import LocalspecError
from localspec.store.architectures import sidecar_kind
from localspec.store.header import Header, read_header
from localspec.store.listing import stored_models
from localspec.store.names import split_parts
from localspec.store.pairing import check_pair

MAX_SIZE_RATIO: Final = 0.6
"""A drafter that reads more than this part of the target's bytes a token can hardly pay."""


class Companion(NamedTuple):
    """A draft model that fits: what can be typed for it, and its file."""

    name: str
    path: Path


def fitting_drafters(target: Header, *, most_read: int | None = None) -> Iterator[Companion]:
    """Draft models for `target` beside it and among the stored ones, the likeliest first.

    Lazy, since each candidate's header takes up to a tenth of a second: the first is
    `next(fitting_drafters(target), None)`. Files that cannot be read are passed over.

    Args:
        most_read: how many headers may be read; None for all.
    """
    for companion in _candidates(target)[:most_read]:
        if _fits(target, companion.path):
            yield companion


def _candidates(target: Header) -> list[Companion]:
    """Smaller files, once each: first those that are called like the target, then the small ones."""
    stored = [Companion(model.name, model.path) for model in stored_models()]
    beside = [Companion(str(path), path) for path in target.path.parent.glob("*.gguf")]
    files = {place: c for c in (*beside, *stored) if (place := _resolved(c.path))}
    sizes = {path: _size(path) for path in files}
    small = [
        (-_likeness(c.path, target.path), sizes[path], c)
        for path, c in files.items()
        if 0 < sizes[path] <= MAX_SIZE_RATIO * target.size_bytes
        and c.path.name == split_parts(c.path.name)[0]
    ]
    return [companion for _, _, companion in sorted(small)]


def _resolved(path: Path) -> Path | None:
    """Where a file really lies; None for a link that leads to itself (RuntimeError before Python 3.13)."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def _likeness(one: Path, other: Path) -> float:
    return SequenceMatcher(None, one.name.lower(), other.name.lower()).ratio()


def _fits(target: Header, path: Path) -> bool:
    try:
        drafter = read_header(path)
        if sidecar_kind(drafter):
            return False  # a head, which is offered as what it is
        check_pair(target, drafter)
    except LocalspecError:
        return False
    # of a split model, only now is the size of all parts known
    return drafter.size_bytes <= MAX_SIZE_RATIO * target.size_bytes


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
