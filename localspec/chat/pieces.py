"""What a reply is made of, as readers give it out."""

from dataclasses import dataclass
from typing import Literal

from localspec.messages import ToolCall

PieceKind = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of the reply, all of one kind and with one flag."""

    kind: PieceKind
    text: str
    drafted: bool = False


@dataclass(frozen=True, slots=True)
class CallPiece:
    """More of a call.

    Attributes:
        call: the name, and as much of the arguments as is certain.
        done: all of it is there.
        reason: why it is none after all, its text follows; None as long as it may be one.
    """

    call: ToolCall
    done: bool = False
    reason: str | None = None


class Held:
    """Characters that are not settled yet, each with the flag of the feed it came in."""

    def __init__(self) -> None:
        self.text = ""
        self._flags = bytearray()

    def add(self, text: str, drafted: bool) -> None:
        """More of the reply; `drafted` holds for all of it."""
        self.text += text
        self._flags += bytes((drafted,)) * len(text)

    def take(self, n: int, kind: PieceKind = "text") -> list[Piece]:
        """The first `n` characters, no longer held, in pieces of one flag each."""
        pieces: list[Piece] = []
        start = 0
        while start < n:
            flag = self._flags[start]
            stop = start
            while stop < n and self._flags[stop] == flag:
                stop += 1
            pieces.append(Piece(kind, self.text[start:stop], bool(flag)))
            start = stop
        self.drop(n)
        return pieces

    def drop(self, n: int) -> None:
        """Forget the first `n` characters."""
        self.text = self.text[n:]
        del self._flags[:n]
