"""Where a weight file can be had from: the one plain value recipes and the store share.

A source names a file on the Hugging Face Hub, or the Python packages that carry the same bytes,
or both. It knows nothing about recipes, downloads or caches.
Recipes and `store/refs.py` make these; `store/pull.py` turns each into a path on disk.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileSource:
    """One weight file: its Hub address, its identity and the packages that mirror it.

    `sha256` (lower-case hex) and `size` (bytes) are of the whole file; None means not known.
    """

    repo: str | None = None
    file: str | None = None
    revision: str | None = None
    sha256: str | None = None
    size: int | None = None
    packages: tuple[str, ...] = ()
    """pip requirements, one per part, in the order the parts are joined."""
    member: str | None = None
    """How the data file's path ends inside the wheel, where a wheel holds several."""
