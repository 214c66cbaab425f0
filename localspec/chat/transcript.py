"""Conversations on disk, as plain JSON in the shape of OpenAI's chat messages.

Written so that other tools can read it and so that a crash leaves the old file whole. What cannot
be kept in a `Message` is refused with its place in the file; nothing is dropped in silence.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, cast, get_args

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.messages import Message, Role, ToolCall

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_MOST_BYTES = 64_000_000
_KNOWN_KEYS = frozenset(("role", "content", "tool_calls", "tool_call_id", "name", *_REASONING_KEYS))


def save(path: Path, messages: Sequence[Message]) -> None:
    """Write a conversation. On POSIX only its owner may read it.

    Raises:
        NotFoundError: the folder does not exist.
        LocalspecError: the file cannot be written.
    """
    turns = [as_openai(message) for message in messages]
    text = json.dumps({"messages": turns}, indent=2, ensure_ascii=False) + "\n"
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8, but it has a JSON escape.
        data = (json.dumps({"messages": turns}, indent=2) + "\n").encode("ascii")
    try:
        _replace(Path(os.path.realpath(path)), data)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no folder {path.parent} to save the conversation in.",
            "Give a path in a folder that exists.",
        ) from error
    except OSError as error:
        raise LocalspecError(
            f"Cannot save the conversation as {path}: {error.strerror or error}.",
            "Give another path.",
        ) from error


def load(path: Path) -> list[Message]:
    """Read a conversation: `{"messages": [...]}` or the bare list.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedFileError: it is no JSON, or not a conversation.
        LocalspecError: it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            _refuse(path, "it is no file")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            _refuse(path, f"it has more than {_MOST_BYTES // 1_000_000} MB")
        text = data.decode("utf-8-sig")
        document: object = json.loads(text)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file {path}.", "Check the path, or write one with /save FILE."
        ) from error
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        _refuse(path, f"byte {error.start} is not UTF-8", error)
    except json.JSONDecodeError as error:
        _refuse(path, f"line {error.lineno}, column {error.colno}: {error.msg}", error)
    except (RecursionError, ValueError) as error:
        _refuse(path, "it is nested too deeply, or has a number that is far too long", error)
    turns = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(turns, list):
        _refuse(path, 'it has no list "messages"')
    return [_message(path, f"message {i}", turn) for i, turn in enumerate(turns, 1)]


def as_openai(message: Message) -> dict[str, object]:
    """A message in OpenAI's shape; what it has not is left out."""
    turn: dict[str, object] = {"role": message.role, "content": message.content}
    if message.reasoning:
        turn["reasoning_content"] = message.reasoning
    if message.tool_calls:
        turn["tool_calls"] = openai_calls(message.tool_calls)
    if message.tool_name:
        turn["name"] = message.tool_name
    if message.tool_call_id:
        turn["tool_call_id"] = message.tool_call_id
    return turn


def openai_calls(calls: Sequence[ToolCall]) -> list[dict[str, object]]:
    """Calls in OpenAI's shape."""
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _message(path: Path, where: str, turn: object) -> Message:
    if not isinstance(turn, dict):
        _refuse(path, f"{where} is not an object")
    for key, value in turn.items():
        if key not in _KNOWN_KEYS and value not in (None, [], {}, ""):
            _refuse(path, f'{where} has "{key}", which cannot be continued here')
    role = turn.get("role")
    if role == "developer":
        role = "system"
    if role not in get_args(Role):
        _refuse(path, f'{where} has no "role" of {", ".join(get_args(Role))}')
    reasoning = next((turn[key] for key in _REASONING_KEYS if turn.get(key)), None)
    if reasoning is not None and not isinstance(reasoning, str):
        _refuse(path, f"the reasoning of {where} is not text")
    return Message(
        cast("Role", role),
        _content(path, where, turn.get("content")),
        reasoning,
        _calls(path, where, turn.get("tool_calls")),
        _name(path, where, turn, "name"),
        _name(path, where, turn, "tool_call_id"),
    )


def _calls(path: Path, where: str, calls: object) -> tuple[ToolCall, ...]:
    if not calls:
        return ()
    if not isinstance(calls, list):
        _refuse(path, f"the tool calls of {where} are no list")
    return tuple(_call(path, where, call) for call in calls)


def _call(path: Path, where: str, call: object) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        _refuse(path, f'a tool call of {where} has no "function"')
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        _refuse(path, f"a tool call of {where} has no name")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    if not isinstance(arguments, str):
        _refuse(path, f"the arguments of a tool call of {where} are neither text nor an object")
    return ToolCall(name, arguments, _name(path, f"a tool call of {where}", call, "id"))


def _name(path: Path, where: str, turn: dict[str, object], key: str) -> str:
    value = turn.get(key) or ""
    if not isinstance(value, str):
        _refuse(path, f'"{key}" of {where} is not text')
    return value


def _content(path: Path, where: str, content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        _refuse(path, f"the content of {where} is neither text nor a list of parts")
    texts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text" or not isinstance(part.get("text"), str):
            _refuse(path, f"{where} has a part of type {kind!r}, only text can be read")
        texts.append(part["text"])
    return "\n".join(texts)


def _refuse(path: Path, reason: str, cause: BaseException | None = None) -> NoReturn:
    raise UnsupportedFileError(
        f"{path} is not a conversation: {reason}.",
        'Expected {"messages": [{"role": "user", "content": "..."}]}',
    ) from cause
