"""Whether files can be written: found out before a run, and not after it."""

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from localspec.errors import UsageError
from localspec.paths import expanded


def check_writable(
    files: Mapping[str, Path | None], inputs: Iterable[Path | str | None] = ()
) -> None:
    """Find out now whether each file can be written; what is in it stays.

    Args:
        files: option -> file, None where it was not given.
        inputs: files that are read, which must stay as they are; what is no file does not count.

    Raises:
        UsageError: one cannot, is an input, or two options name the same file.
    """
    seen: dict[Path, str] = {}
    read = {Path(os.path.realpath(expanded(path))) for path in inputs if path is not None}
    for option, path in files.items():
        if path is None:
            continue
        if str(path) == "-":
            raise UsageError(
                f"{option} takes the name of a file, and - is none.", f"Name one: {option} FILE"
            )
        place = _try(option, path)
        if place in read and place.is_file():
            raise UsageError(
                f"{option} would write over {path}, which is read here.",
                f"Name another file: {option} FILE",
            )
        if place in seen and (place.is_file() or not place.exists()):
            raise UsageError(
                f"{seen[place]} and {option} name the same file, {path}.", "Give each its own."
            )
        seen[place] = option


def _try(option: str, path: Path) -> Path:
    """The file itself, behind links, after it was opened and left as it was."""
    hint = f"Name a file in a folder that exists and may be written: {option} FILE"
    try:
        path = expanded(path)
        place, before = Path(os.path.realpath(path)), path.exists()
        if before and not (path.is_file() or path.is_dir()):
            # to open and close a pipe would tell its reader that all is over
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return place
        place.open("a", encoding="utf-8").close()
        if not before:
            place.unlink()
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror or error}.", hint) from error
    except ValueError as error:
        # a NUL character
        raise UsageError(f"Cannot write {path}: {error}.", hint) from error
    return place
