"""What a tool is: something the model may call by name; and the box of all that it has."""

import difflib
import re
from collections.abc import Iterable
from typing import Protocol

from localspec.errors import UsageError
from localspec.messages import ToolSpec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
NAME_RULE = "A name begins with a letter or _ and has at most 64 letters, digits, _, - and dots."


class ToolFailedError(Exception):
    """A call that brought no result. The model is told, and the conversation goes on.

    Args:
        message: what went wrong, in words that help the model to call better.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ToolTimeoutError(ToolFailedError):
    """A call that had no result in the time it was given."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no result within {seconds:g} seconds")


class Tool(Protocol):
    """One function that the model may call.

    Attributes:
        spec: what the model is told of it.
        origin: where it comes from, for the user: "functions.py", "MCP server weather".
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def origin(self) -> str: ...

    def call(self, arguments: dict[str, object], seconds: float) -> str:
        """Run it and give its result as text.

        Args:
            arguments: as the model wrote them, not yet checked.
            seconds: how long it may take.

        Raises:
            ToolTimeoutError: it took longer.
            ToolFailedError: the arguments are wrong, or the function failed.
        """
        ...


class Toolbox:
    """All tools of a conversation, found by name.

    Args:
        tools: in the order in which the model sees them.

    Raises:
        UsageError: two have one name, or a name is none that a model could call.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = tool.spec.name
            if not is_callable_name(name):
                raise UsageError(
                    f"No model could call the tool {name!r} of {tool.origin}.", NAME_RULE
                )
            if name in self._tools:
                raise _twice(name, self._tools[name].origin, tool.origin)
            self._tools[name] = tool

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of each."""
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def closest(self, name: str) -> str | None:
        """The name that may have been meant; None if nothing is like it."""
        folded = {known.casefold(): known for known in self._tools}
        close = difflib.get_close_matches(name.casefold(), folded, n=1)
        return folded[close[0]] if close else None


def is_callable_name(name: str) -> bool:
    """True for a name that templates, grammars and models can write."""
    return _NAME.fullmatch(name) is not None


def _twice(name: str, first: str, second: str) -> UsageError:
    if first == second:
        return UsageError(f"{first} has two tools named {name}.", "Rename one of them.")
    return UsageError(
        f"{first} and {second} both have a tool named {name}.",
        "Leave one of them out, or rename its tool.",
    )
