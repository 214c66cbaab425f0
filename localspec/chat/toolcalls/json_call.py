"""Calls whose arguments are JSON: the whole call as an object, or a name and an object after it."""

import json
import re

from pydantic_core import from_json

from localspec.chat.toolcalls.layout import CallLayout
from localspec.chat.toolcalls.reading import MORE, Reading, Types, after_marker, broken
from localspec.messages import ToolCall

_NAME_KEYS = ("name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters")
_NAME = re.compile(r"\s*(?P<name>[^\s<>\[\]{}()\"'|]+)")
_COUNT = re.compile(r":\d+$")


def read_object(text: str, layout: CallLayout, tools: Types) -> Reading:
    """A call that is one JSON object, from its brace on.

    Args:
        text: the reply from the start of the object.
        layout: of shape "json".
        tools: names are not checked here.
    """
    start = len(text) - len(text.lstrip())
    if start == len(text):
        return MORE
    if text[start] != "{":
        return broken("no JSON object follows")
    value, end = _decoded(text, start)
    if value is None:
        partial = _partial(text[start:])
        if partial is None:
            return broken("its JSON is not valid")
        return Reading("more", _call(partial, layout, text[start:]))
    call = _call(value, layout, text[start:end]) if isinstance(value, dict) else None
    if call is None:
        return broken("its JSON names no function")
    return Reading("done", call, end)


def read_named(text: str, layout: CallLayout, tools: Types) -> Reading:
    """A name, a marker and a JSON object."""
    found, call_id, start = _NAME.match(text), "", 0
    if layout.after_id and found and found.end() < len(text):
        call_id, after = found["name"], after_marker(text, layout.after_id, found.end())
        if after == -1:
            return MORE
        if after is None:
            return broken("no name follows its id")
        found, start = _NAME.match(text, after), after
    if found is None:
        return MORE if not text[start:].strip() else broken("no name follows")
    if found.end() == len(text):
        return MORE
    written, position = found["name"], found.end()
    if layout.before_id:
        after = after_marker(text, layout.before_id, position)
        if after == -1:
            return MORE
        if after is not None:
            name_of_id = _NAME.match(text, after)
            if name_of_id is None or name_of_id.end() == len(text):
                return MORE
            call_id, position = name_of_id["name"], name_of_id.end()
    name = _COUNT.sub("", written)
    if name != written:
        # the name with its number is the id that the answer refers to
        call_id = layout.before_name.rpartition(">")[2] + written
    after = after_marker(text, layout.after_name, position)
    if after is None:
        return broken("its arguments are missing")
    if after == -1:
        return MORE
    start = after + len(text[after:]) - len(text[after:].lstrip())
    if start == len(text):
        return Reading("more", ToolCall(name, "", call_id))
    if text[start] != "{":
        return broken("its arguments are no JSON object")
    value, end = _decoded(text, start)
    if value is None:
        if _partial(text[start:]) is None:
            return broken("its arguments are not valid JSON")
        return Reading("more", ToolCall(name, text[start:], call_id))
    return Reading("done", ToolCall(name, text[start:end], call_id), end)


def _decoded(text: str, start: int) -> tuple[object, int]:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start


def _partial(text: str) -> dict[str, object] | None:
    """What is there of an object that is not finished; None if it can be none."""
    try:
        value = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _call(value: dict[str, object], layout: CallLayout, text: str) -> ToolCall | None:
    """The call in an object, finished or not; None if it has no name (yet)."""
    name = _at(value, layout.name_key, *_NAME_KEYS)
    if isinstance(name, dict):
        return _call(name, layout, text)
    if not isinstance(name, str) or not name or _is_open(text, name):
        return None
    call_id = _at(value, layout.id_key)
    return ToolCall(name, _arguments(value, layout, text), "" if call_id is None else str(call_id))


def _is_open(text: str, name: str) -> bool:
    """True if the name may go on."""
    return text.endswith(name)


def _arguments(value: dict[str, object], layout: CallLayout, text: str) -> str:
    """The arguments as they were written."""
    arguments = _at(value, layout.arguments_key, *_ARGUMENT_KEYS)
    if isinstance(arguments, str):
        return arguments
    keys = "|".join(map(re.escape, {layout.arguments_key.rpartition(".")[2], *_ARGUMENT_KEYS}))
    found = re.search(rf'"(?:{keys})"\s*:\s*(?={{)', text)
    if found is None or not isinstance(arguments, dict):
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    decoded, end = _decoded(text, found.end())
    return text[found.end() : end] if decoded is not None else text[found.end() :]


def _at(value: object, *paths: str) -> object:
    """The value at the first of the paths that leads anywhere."""
    for path in paths:
        found = value
        for key in path.split(".") if path else ():
            found = found.get(key) if isinstance(found, dict) else None
        if path and found is not None:
            return found
    return None
