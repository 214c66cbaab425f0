"""What is said in a conversation, in the shape of OpenAI's chat messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wants called.

    Attributes:
        name: which function.
        arguments: a JSON object as text, as the model wrote it.
        id: what the answer refers to; empty where the model gives none.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function that the model may call.

    Attributes:
        name: what it is called by.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn.

    Attributes:
        role: who speaks.
        content: the text of the turn.
        reasoning: the thought that came before the answer, where the template marks it.
        tool_calls: of an assistant's turn.
        tool_name: of a tool's turn: the function that answers.
        tool_call_id: of a tool's turn: the call that is answered; empty where that has no id.
    """

    role: Role
    content: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""
