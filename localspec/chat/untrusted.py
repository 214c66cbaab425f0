"""What tools answer is not ours: a marker of the model's that stands in it must stay the text it is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from localspec.messages import Message

_PRIVATE = range(0xE000, 0xF900)
"""Unicode's private use area: characters that hardly any text has."""


def guarded(messages: Sequence[Message], markers: Iterable[str]) -> tuple[list[Message], str]:
    """The conversation, with a guard in each marker that stands in an answer of a tool.

    A prompt that is made of it is to be tokenized in the pieces between the guards, which no marker spans.

    Args:
        messages: the conversation.
        markers: what the tokenizer takes for one token that means something.

    Returns:
        The messages, and the guard: a character that stands nowhere in them; empty where none is needed.
    """
    results = "".join(message.content for message in messages if message.role == "tool")
    found = sorted((m for m in markers if m and m in results), key=len, reverse=True)
    if not found:
        return list(messages), ""
    everything = "".join(f"{message.content}{message.reasoning}" for message in messages)
    guard = next(chr(i) for i in _PRIVATE if chr(i) not in everything)
    return [_with(message, found, guard) for message in messages], guard


def _with(message: Message, markers: Iterable[str], guard: str) -> Message:
    if message.role != "tool":
        return message
    text = message.content
    for marker in markers:
        text = text.replace(marker, marker[0] + guard + marker[1:])
    return replace(message, content=text)
