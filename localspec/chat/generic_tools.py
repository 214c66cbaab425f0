"""Tools for templates that know none: described in the system prompt, called and answered in plain text."""

import json
from collections.abc import Sequence
from dataclasses import replace

from localspec.chat.toolcalls.derive import DEFAULT_LAYOUT
from localspec.chat.toolcalls.layout import CallLayout
from localspec.messages import Message, ToolCall, ToolSpec

_INTRODUCTION = (
    "You can call functions. Call one whenever its result is needed, and write the call exactly like this,"
    " as JSON between the tags, with nothing after it:"
)
_FUNCTIONS = (
    "You get the result in the next turn. These are the functions, each with the JSON schema of its"
    " arguments:"
)
_EXAMPLE = ToolCall("name_of_the_function", '{"argument": "value"}')


def described(
    messages: Sequence[Message], tools: Sequence[ToolSpec], layout: CallLayout
) -> list[Message]:
    """The conversation with the tools in its system prompt.

    Args:
        messages: the conversation.
        tools: what may be called.
        layout: how calls are written.
    """
    functions = [
        json.dumps(
            {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
            ensure_ascii=False,
        )
        for t in tools
    ]
    words = "\n".join([_INTRODUCTION, _written(_EXAMPLE, layout), _FUNCTIONS, *functions])
    if messages and messages[0].role == "system":
        first, *rest = messages
        return [replace(first, content=f"{first.content}\n\n{words}"), *rest]
    return [Message("system", words), *messages]


def in_words(messages: Sequence[Message], layout: CallLayout) -> list[Message]:
    """The conversation with its calls and their answers as text."""
    made: list[Message] = []
    for message in messages:
        if message.tool_calls:
            calls = [_written(call, layout) for call in message.tool_calls]
            text = "\n".join([message.content, *calls] if message.content else calls)
            made.append(replace(message, content=text, tool_calls=()))
        elif message.role == "tool":
            text = f"<tool_response>\n{message.content}\n</tool_response>"
            made.append(Message("user", text))
        else:
            made.append(message)
    return made


def _written(call: ToolCall, layout: CallLayout) -> str:
    if layout.shape == "named-json":
        before = f"{layout.opening}{layout.before_name}{call.name}{layout.after_name}"
        return f"{before}{call.arguments}{layout.after_arguments}{layout.closing}"
    if layout.shape != "json" or "." in layout.name_key:
        layout = DEFAULT_LAYOUT
    keys = json.dumps(layout.name_key), json.dumps(layout.arguments_key)
    body = f"{{{keys[0]}: {json.dumps(call.name)}, {keys[1]}: {call.arguments}}}"
    before = f"{layout.opening}{layout.before_name}"
    return f"{before}{body}{layout.after_arguments}{layout.closing}"
