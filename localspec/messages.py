"""What is said in a conversation, in the shape of OpenAI's chat messages."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn.

    Attributes:
        role: who speaks.
        content: the text of the turn.
        reasoning: the thought that came before the answer, where the template marks it.
    """

    role: Role
    content: str
    reasoning: str | None = None
