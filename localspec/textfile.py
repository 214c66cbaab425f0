"""Text of files that users name: UTF-8, with or without a byte order mark, and never without an end."""

from errno import EFBIG
from pathlib import Path

_MOST_BYTES = 64 * 2**20


def read_text(path: Path, most_bytes: int | None = None) -> str:
    """All of a text file, its line ends as they are.

    Args:
        path: a file, or a pipe or a device that ends.
        most_bytes: what has more is not read; None for 64 MiB.

    Raises:
        OSError: it cannot be read, or there is no end to it.
        UnicodeDecodeError: it is not UTF-8.
    """
    most_bytes = most_bytes or _MOST_BYTES
    with path.open("rb") as file:
        # one more than allowed tells whether there is more
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(EFBIG, f"it is larger than {most_bytes // 2**20} MiB, or has no end")
    return data.decode("utf-8-sig")
