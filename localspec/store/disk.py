"""Whether what is to be fetched fits on the disk, and what is said when the disk refuses.

It knows sizes and folders only. `pull.py` asks it once, before the first byte, for all files.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from pathlib import Path

from localspec.errors import LocalspecError, OutOfResourcesError

MARGIN = 256 * 1024**2
"""Bytes that must stay free, so that the pull is not what fills the disk."""


def free_bytes(folder: Path) -> int:
    """Bytes free for this user where `folder` is, or will be made."""
    return shutil.disk_usage(_existing(folder)).free


def check_space(needs: Iterable[tuple[Path, int]]) -> None:
    """Refuse a pull that does not fit. `needs` are (folder, bytes still to come) pairs.

    Raises:
        OutOfResourcesError: some disk has less free than its files need, plus `MARGIN`.
    """
    folders: dict[int, Path] = {}
    wanted: dict[int, int] = {}
    for folder, size in needs:
        device = _existing(folder).stat().st_dev
        folders.setdefault(device, folder)
        wanted[device] = wanted.get(device, 0) + size
    for device, size in wanted.items():
        free = free_bytes(folders[device])
        if size and size + MARGIN > free:
            raise no_space(
                folders[device],
                f"The download needs {gigabytes(size + MARGIN)}, and the disk of "
                f"{folders[device]} has {gigabytes(free)} free.",
            )


def no_space(folder: Path, message: str | None = None) -> OutOfResourcesError:
    """The error for a full disk under `folder`."""
    return OutOfResourcesError(
        message or f"The disk of {folder} is full.",
        "Free some space (`localspec models` lists what is there), or set HF_HOME and "
        "LOCALSPEC_HOME to folders on another disk. What has arrived is kept.",
    )


def disk_error(error: OSError, folder: Path) -> LocalspecError:
    """The error for an `OSError` while writing under `folder`."""
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return no_space(folder)
    return LocalspecError(
        f"Cannot write to {error.filename or folder}: {error.strerror or error}.",
        "Check that the folder is yours, or set HF_HOME and LOCALSPEC_HOME to other folders.",
    )


def gigabytes(size: int) -> str:
    """`size` in bytes as people read it: "1.1 GB", "340 MB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
