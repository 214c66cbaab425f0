"""A file that is not whole yet: appended to, hashed on the way, able to go on after a kill.

It knows bytes only, not where they come from. `download.py` and `wheels.py` fill it; the caller
gives the whole file its final name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

from localspec.store.meter import Meter

_CHUNK = 4 * 1024**2


def size_of(path: Path) -> int:
    """Bytes of the file at `path`, 0 if there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


class HalfFile:
    """Context manager over `path`, of which the first `keep` bytes are taken as they are.

    `done` counts the bytes in it, `digest()` is the hex sha256 of them.
    """

    def __init__(self, path: Path, keep: int) -> None:
        self.done = 0
        self._keep = keep
        self._hash = hashlib.sha256()
        # Unbuffered: what was received is in the file even if this process is killed.
        self._file = path.open("r+b" if keep else "wb", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def read_kept(self, meter: Meter) -> None:
        """Hash the bytes that are kept and cut off what follows them."""
        while self.done < self._keep:
            chunk = self._file.read(min(_CHUNK, self._keep - self.done))
            if not chunk:
                break
            self._hash.update(chunk)
            self.done += len(chunk)
            meter.check()
        self._file.truncate()

    def write(self, chunk: bytes) -> None:
        """Append `chunk`."""
        view = memoryview(chunk)
        while view:
            # Without a buffer a write may take less than it was given.
            view = view[self._file.write(view) :]
        self._hash.update(chunk)
        self.done += len(chunk)

    def restart(self) -> None:
        """Throw everything away."""
        self._file.seek(0)
        self._file.truncate()
        self.done = 0
        self._hash = hashlib.sha256()

    def digest(self) -> str:
        """Lower-case hex sha256 of the `done` bytes."""
        return self._hash.hexdigest()
