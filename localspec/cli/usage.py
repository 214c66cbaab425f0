"""A command line that could not be read, in the words and the form of our other errors."""

import re

from localspec.errors import LocalspecError, UsageError

_VALIDATOR = ((r"Value error, ", ""), (r"Input should be", "it must be"))
"""Words of pydantic, with which typer checks values, and ours."""


def as_our_own(error: Exception) -> LocalspecError | None:
    """What typer says is wrong with the command line; None if `error` is nothing that it says.

    Its exceptions are known by what they can do, since not all of its versions export them.
    """
    say = getattr(error, "format_message", None)
    code = getattr(error, "exit_code", None)
    if say is None or code is None:
        return None
    message = str(say()).strip()
    for theirs, ours in _VALIDATOR:
        message = re.sub(theirs, ours, message)
    context = getattr(error, "ctx", None)
    hint = f"All options: {context.command_path} -h" if context else None
    kind = UsageError if code == UsageError.exit_code else LocalspecError
    return kind(message if message.endswith((".", ")")) else f"{message}.", hint)


def is_only_help(error: Exception) -> bool:
    """Whether nothing was typed, and the help that typer has shown is the answer."""
    return type(error).__name__ == "NoArgsIsHelpError"
