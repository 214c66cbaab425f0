"""What the terminal chat talks to.

The chat knows a conversation by this shape alone: text and names in, events out. Sessions, models
and files stay on the other side of it; `chat.py` and `commands.py` are its only users.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from localspec.events import AnswerEvent


class Conversation(Protocol):
    """A conversation whose model can be changed on the way.

    An answer is a generator: closing it stops the answer and keeps what came so far. Every member
    may raise `LocalspecError` and must then leave the conversation as it was.
    """

    @property
    def model_name(self) -> str:
        """What answers."""

    @property
    def drafter_name(self) -> str:
        """What drafts for it."""

    @property
    def system(self) -> str | None:
        """The system prompt."""

    def set_system(self, text: str | None) -> None:
        """Replace the system prompt; None for none."""

    def send(self, text: str) -> Iterator[AnswerEvent]:
        """Say something and stream the answer."""

    def regenerate(self) -> Iterator[AnswerEvent]:
        """Answer the last question again."""

    def reset(self) -> None:
        """Forget what was said; the system prompt stays."""

    def save(self, path: Path) -> None:
        """Write the conversation to a file, over what is there."""

    def load(self, path: Path) -> int:
        """Take a conversation up from a file; returns its number of messages."""

    def switch_model(self, name: str) -> None:
        """Go on with another model; what was said stays."""

    def stats(self) -> list[tuple[str, str]]:
        """Figures of the last answer, as name and value."""
