"""A reply as it streams in, split into thought and answer.

Works on text, with the markers of `format.py`, and gives the same pieces however the text is cut.
It holds back only what may still become a marker, and white space next to one. Each character keeps
the flag of the feed it came in, so an accepted draft can be coloured. The session turns pieces into
events.
"""

from enum import Enum, auto

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.pieces import Held, Piece, PieceKind


class _State(Enum):
    OUTSIDE = auto()  # nothing said since the start or since a thought closed: one may open
    OPENED = auto()  # after the start marker: white space is nobody's
    THOUGHT = auto()
    ANSWER = auto()


class ReplyParser:
    """Splits one reply.

    A start marker counts where a reply or what follows a thought begins. In the middle of an answer
    it counts only if it is the text of a control token (it has a bar in it): a model that explains
    what `<think>` is for means the word. A thought that never closes is a thought to its end.

    Args:
        format: how the model writes replies.
        in_reasoning: True if the prompt has opened the thought.
    """

    def __init__(self, format: ChatFormat, in_reasoning: bool = False) -> None:
        self._markers = format.reasoning
        self._waiting = Held()
        self._said_something = False
        self._thought_closed = False
        self._state = _State.ANSWER if self._markers is None else _State.OUTSIDE
        if self._markers is not None and in_reasoning:
            self._state = _State.OPENED

    def feed(self, text: str, drafted: bool = False) -> list[Piece]:
        """Take more of the reply; `drafted` holds for all of `text`.

        Returns:
            What is certain now, in order.
        """
        self._waiting.add(text, drafted)
        pieces: list[Piece] = []
        while self._step(pieces):
            pass
        return pieces

    @property
    def thinking(self) -> bool:
        """True inside a thought."""
        return self._state in (_State.OPENED, _State.THOUGHT)

    def interrupt(self) -> list[Piece]:
        """Something else follows, a call: a thought is over, and another may begin after it."""
        pieces = self.finish()
        if self._markers is not None:
            self._state = _State.OUTSIDE
        return pieces

    def finish(self) -> list[Piece]:
        """The reply is over: what was held back is the text it looks like."""
        pieces: list[Piece] = []
        if self.thinking:
            self._emit(len(self._held.rstrip()), "reasoning", pieces)
        else:
            self._skip_space_after_thought()
            self._emit(len(self._held), "text", pieces)
        self._drop(len(self._held))
        return pieces

    def _step(self, pieces: list[Piece]) -> bool:
        """Settle what can be settled; True if that changed the state and there may be more."""
        if not self._held:
            return False
        if self._markers is None:
            self._emit(len(self._held), "text", pieces)
            return False
        match self._state:
            case _State.OUTSIDE:
                return self._outside(self._markers)
            case _State.OPENED:
                return self._opened(self._markers)
            case _State.THOUGHT:
                return self._thought(self._markers, pieces)
            case _State.ANSWER:
                return self._answer(self._markers, pieces)

    def _outside(self, markers: Markers) -> bool:
        text = self._held.lstrip()
        space = len(self._held) - len(text)
        if text.startswith(markers.start):
            self._drop(space + len(markers.start))
            self._state = _State.OPENED
        elif text.startswith(markers.end):
            # The thought had been closed already, or never was: nothing to show.
            self._drop(space + len(markers.end))
            self._thought_closed = True
        elif markers.start.startswith(text) or markers.end.startswith(text):
            return False
        elif (again := _begun_twice(text, markers.start)) is not None:
            # Some models begin with the tag of the marker, and then with the marker.
            if again < 0:
                return False
            self._drop(space + again)
        else:
            self._skip_space_after_thought()
            self._state = _State.ANSWER
        return True

    def _opened(self, markers: Markers) -> bool:
        self._drop(len(self._held) - len(self._held.lstrip()))
        if self._held.startswith(markers.start):
            # Some models repeat the marker that the prompt ended with.
            self._drop(len(markers.start))
            return True
        if markers.start.startswith(self._held):
            return False
        self._state = _State.THOUGHT
        return True

    def _thought(self, markers: Markers, pieces: list[Piece]) -> bool:
        end = self._held.find(markers.end)
        if end < 0:
            certain = len(self._held) - held_back(self._held, markers.end)
            self._emit(len(self._held[:certain].rstrip()), "reasoning", pieces)
            return False
        self._emit(len(self._held[:end].rstrip()), "reasoning", pieces)
        self._drop(self._held.find(markers.end) + len(markers.end))
        self._thought_closed = True
        self._state = _State.OUTSIDE
        return True

    def _answer(self, markers: Markers, pieces: list[Piece]) -> bool:
        self._said_something = True
        start = self._held.find(markers.start) if "|" in markers.start else -1
        if start >= 0:
            self._emit(start, "text", pieces)
            self._drop(len(markers.start))
            self._state = _State.OPENED
            return True
        hold = held_back(self._held, markers.start) if "|" in markers.start else 0
        self._emit(len(self._held) - hold, "text", pieces)
        return False

    def _skip_space_after_thought(self) -> None:
        if self._thought_closed and not self._said_something:
            self._drop(len(self._held) - len(self._held.lstrip()))

    def _emit(self, n: int, kind: PieceKind, pieces: list[Piece]) -> None:
        pieces += self._waiting.take(n, kind)

    def _drop(self, n: int) -> None:
        self._waiting.drop(n)

    @property
    def _held(self) -> str:
        return self._waiting.text


def _begun_twice(text: str, marker: str) -> int | None:
    """Where the marker stands after its own first tag; -1 if it may come yet, None if it does not."""
    tag = marker[: marker.find(">") + 1]
    if not tag or tag == marker or not text.startswith(tag):
        return None
    rest = text[len(tag) :]
    if rest.startswith(marker):
        return len(tag)
    return -1 if marker.startswith(rest) else None


def held_back(text: str, *markers: str) -> int:
    """Length of the longest end of `text` with which one of the markers could begin."""
    longest = min(len(text), max((len(marker) for marker in markers), default=1) - 1)
    for n in range(longest, 0, -1):
        if any(marker.startswith(text[-n:]) for marker in markers):
            return n
    return 0
