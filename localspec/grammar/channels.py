"""Replies in channels (gpt-oss, `chat/harmony.py`): each message names its channel, a call its recipient."""

from collections.abc import Sequence

from localspec.grammar.lark import Rules, any_of, json_body, quoted
from localspec.grammar.shapes import closed
from localspec.messages import ToolSpec

_CHANNEL, _MESSAGE = "<|channel|>", "<|message|>"
_END, _START, _CONSTRAIN = "<|end|>", "<|start|>", "<|constrain|>"


def channel_rules(rules: Rules, tools: Sequence[ToolSpec], mode: str) -> None:
    """Add the rule `start` for a reply that begins after the assistant's header.

    Args:
        rules: gets the rules.
        tools: what may be called.
        mode: of the `ToolChoice`.
    """
    calls = [_call(rules, tool) for tool in tools] if mode != "none" else []
    said = _messages(rules, "analysis", "commentary", *(() if mode == "required" else ("final",)))
    last = any_of([*calls, *(() if mode == "required" else (said,))])
    rules.add("start", f"({said} between)* {last}")


def final_channel(rules: Rules) -> str:
    """The body of all that comes before the text of the last message."""
    said = _messages(rules, "analysis", "commentary")
    return f'({said} between)* {rules.literal(_CHANNEL)} "final" {rules.literal(_MESSAGE)}'


def _messages(rules: Rules, *channels: str) -> str:
    """The rule of a message in one of these channels, with one of what stands between two."""
    channel, message = rules.literal(_CHANNEL), rules.literal(_MESSAGE)
    end, start = rules.literal(_END), rules.literal(_START)
    rules.add("between", f'{end} {start} "assistant"')
    return rules.add("said", f"{channel} {any_of(map(quoted, channels))} {message} TEXT")


def _call(rules: Rules, tool: ToolSpec) -> str:
    """A call; models name its recipient before the channel or after it."""
    channel, constrain = rules.literal(_CHANNEL), rules.literal(_CONSTRAIN)
    to = quoted(f" to=functions.{tool.name}")
    name = '("commentary" | "analysis")'
    header = f"({channel} {name} {to} | {to} {channel} {name})"
    arguments = json_body(closed(tool.parameters), "exact")
    return f'{header} (" "? ({constrain})? "json")? {rules.literal(_MESSAGE)} {arguments}'
