"""The error tree. Each error knows its sentence, the next command to type and its exit code.

    LocalspecError                1   anything that failed
      + UsageError                2   the command line asks for something that makes no sense
      + NotFoundError             3   no such model, file or recipe
      + UnsupportedFileError      4   the file is damaged, or llama.cpp cannot run it
      + OutOfResourcesError       5   memory or disk is not enough
      + PairMismatchError         6   this drafter does not fit this target

They are raised where the fault is known and caught once, in `cli/app.py`.
"""

from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import ClassVar


class LocalspecError(Exception):
    """A fault the user can act on.

    Args:
        message: one sentence that says what is wrong, without a trailing hint.
        hint: what to do next, with the command to type where there is one.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(LocalspecError):
    """Options that contradict each other, or a value out of range."""

    exit_code = 2


class NotFoundError(LocalspecError):
    """A model, file or recipe that does not exist, or is not here and may not be fetched."""

    exit_code = 3


class UnsupportedFileError(LocalspecError):
    """A file that is damaged, truncated, not a GGUF, or of a kind that cannot be run."""

    exit_code = 4


class OutOfResourcesError(LocalspecError):
    """Not enough memory or disk space."""

    exit_code = 5


class PairMismatchError(LocalspecError):
    """The drafter cannot draft for the target (vocabulary, width or kind)."""

    exit_code = 6


def unwritable(path: Path | str, option: str, error: OSError) -> LocalspecError:
    """What to say of a file that an option named and that could not be written."""
    kind = OutOfResourcesError if error.errno in (ENOSPC, EDQUOT, EFBIG) else LocalspecError
    return kind(
        f"Cannot write {path}: {error.strerror or error}.", f"Name another file: {option} FILE"
    )
