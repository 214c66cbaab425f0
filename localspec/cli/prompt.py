"""The prompt of a one-shot run: the argument, then what is piped in."""

import os
import shlex
import stat
import sys

from localspec.errors import LocalspecError, UsageError


def one_argument(words: list[str] | None) -> str | None:
    """The prompt among the arguments.

    Raises:
        UsageError: the shell made several arguments of it.
    """
    if words and len(words) > 1:
        line = shlex.join([" ".join(words)]) if "\n" not in "".join(words) else '"your question"'
        raise UsageError(
            f"The prompt must be one argument, and these are {len(words)}.",
            f"Put it between quotes: localspec run {line}",
        )
    return words[0] if words else None


def read_prompt(argument: str | None) -> str:
    """Put the prompt together; `-` as argument means standard input alone.

    Raises:
        UsageError: there is no prompt.
        LocalspecError: standard input is not UTF-8 text.
    """
    parts = [] if argument in (None, "-") else [argument]
    if argument == "-" or _is_piped():
        parts.append(_read_stdin())
    prompt = "\n\n".join(part for part in parts if part and part.strip())
    if not prompt:
        raise UsageError("There is no prompt.", 'localspec run "your question"')
    return prompt


def _is_piped() -> bool:
    """True for a pipe or a file; a terminal or the null device has nothing to say."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _read_stdin() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LocalspecError(
            f"Standard input is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start}).",
            "Convert it first: iconv -f LATIN1 -t UTF-8 FILE | localspec run …",
        ) from error
