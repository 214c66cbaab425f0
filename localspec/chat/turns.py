"""Messages in the shape that templates see: OpenAI's, with the names that published templates use."""

import json
from collections.abc import Callable, Mapping, Sequence

from localspec.messages import Message, ToolCall, ToolSpec

Turn = dict[str, object]
"""One message as templates see it: "role", "content" and further keys of OpenAI's shape."""

Render = Callable[[Sequence[Turn], bool, Mapping[str, object] | None], str]
"""Renders turns as they are; the flag asks for the generation prompt, the last are further variables."""


def to_turn(message: Message) -> Turn:
    """A message as templates expect it; a thought goes under both names in use."""
    turn: Turn = {"role": message.role, "content": message.content}
    if message.reasoning:
        turn |= {"reasoning_content": message.reasoning, "thinking": message.reasoning}
    if message.tool_calls:
        turn["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_name:
        turn["name"] = message.tool_name
    if message.tool_call_id:
        turn["tool_call_id"] = message.tool_call_id
    return turn


def to_tool(spec: ToolSpec) -> dict[str, object]:
    """A tool as templates expect it."""
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": dict(spec.parameters),
        },
    }


def plain_turn(role: str, content: str, *, parts: bool = False) -> Turn:
    """A turn of text; as a list of parts where that is wanted."""
    return {"role": role, "content": [{"type": "text", "text": content}] if parts else content}


def calls_of(turn: Turn) -> list[Turn]:
    """The calls of a turn; those that are no objects are left out."""
    calls = turn.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def function_of(call: Turn) -> Turn:
    """Name and arguments of a call."""
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def parsed_arguments(arguments: object) -> object:
    """Arguments as an object, if they are the JSON text of one."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def written_arguments(arguments: object) -> str:
    """Arguments as JSON text."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _call(call: ToolCall) -> Turn:
    function = {"name": call.name, "arguments": call.arguments}
    return {"type": "function", "id": call.id, "function": function}
