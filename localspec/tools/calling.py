"""From a call that the model wrote to the text it is answered with, whatever goes wrong."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NoReturn

from localspec.messages import ToolCall
from localspec.tools.base import Tool, Toolbox, ToolFailedError
from localspec.tools.results import bounded

AnswerStatus = Literal["ok", "failed", "refused", "unknown", "repeated"]
_MOST_IDENTICAL = 2


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the model gets for a call.

    Attributes:
        content: the result; "Error: " and the reason where there is none.
        status: "ok"; "failed" in the tool or by wrong arguments; "refused" by the user; "unknown"
            name; "repeated" once too often.
    """

    content: str
    status: AnswerStatus


class RepeatGuard:
    """Stops a model that makes the same call again and again. One for each exchange."""

    def __init__(self) -> None:
        self._n_calls: Counter[tuple[str, str]] = Counter()

    def is_repeated(self, name: str, arguments: str) -> bool:
        """Count a call; True if it was made as often as it may be already.

        Args:
            name: of the tool.
            arguments: in a form that is the same for equal arguments.
        """
        self._n_calls[name, arguments] += 1
        return self._n_calls[name, arguments] > _MOST_IDENTICAL


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that can be run.

    Attributes:
        tool: what is called.
        arguments: with what.
    """

    tool: Tool
    arguments: dict[str, object]

    def run(self, seconds: float) -> ToolAnswer:
        """Run it; only what ends the program goes through.

        Args:
            seconds: how long the tool may take.
        """
        try:
            return ToolAnswer(bounded(self.tool.call(self.arguments, seconds)), "ok")
        except ToolFailedError as error:
            return _error("failed", error.message)
        except Exception as error:
            # a tool of ours that breaks its word must not end the conversation
            return _error("failed", f"{type(error).__name__}: {error}")


def planned(toolbox: Toolbox, call: ToolCall, guard: RepeatGuard) -> Plan | ToolAnswer:
    """What is to be run for a call, or the answer where nothing can be.

    Args:
        toolbox: the tools there are.
        call: as the model wrote it.
        guard: of this exchange.
    """
    tool = toolbox.find(call.name)
    if tool is None:
        return _error("unknown", _no_such_tool(toolbox, call.name))
    try:
        arguments = _object(call.arguments)
        canonical = json.dumps(arguments, sort_keys=True)
    except ValueError as error:
        if guard.is_repeated(call.name, call.arguments):
            return _repeated()
        return _error("failed", f"the arguments must be one JSON object, but {error}")
    if guard.is_repeated(call.name, canonical):
        return _repeated()
    return Plan(tool, arguments)


def _error(status: AnswerStatus, words: str) -> ToolAnswer:
    return ToolAnswer(f"Error: {bounded(words)}", status)


REFUSED = _error("refused", "the user did not allow this call")
"""The answer to a call that was asked for and not allowed."""


def _repeated() -> ToolAnswer:
    return _error(
        "repeated",
        f"not run: this very call was made {_MOST_IDENTICAL} times already, and its result stands "
        "above. Answer with it, or call with other arguments",
    )


def _no_such_tool(toolbox: Toolbox, name: str) -> str:
    closest = toolbox.closest(name)
    ask = f" Did you mean {closest}?" if closest else ""
    known = ", ".join(toolbox.names) or "none"
    return f"there is no tool named {name!r}.{ask} The tools are: {known}"


def _object(text: str) -> dict[str, object]:
    """The arguments as JSON has them; none where the model wrote nothing.

    Raises:
        ValueError: what they are instead, to follow a "but".
    """
    if not text.strip():
        return {}
    try:
        # not strict: models write line ends into strings as they are
        value: object = json.loads(text, strict=False, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"at line {error.lineno}, column {error.colno} there is a fault: {error.msg}"
        ) from None
    except RecursionError:
        raise ValueError("they are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"they have a number that cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"they are {_kind(value)}")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "a number"
