"""An answer on its way from the bytes of tokens to text, thought and calls."""

from dataclasses import dataclass, field

from localspec.chat.detokenize import Utf8Stream
from localspec.chat.pieces import CallPiece, Piece
from localspec.chat.reply import Reader
from localspec.chat.stops import StopStrings
from localspec.events import AnswerEvent, CallDelta, ReasoningDelta, TextDelta
from localspec.messages import Message, ToolCall


@dataclass(slots=True)
class Answer:
    """What came so far.

    Attributes:
        reader: splits the text.
        stops: end it.
        ids: of its tokens.
        written: its text as the model wrote it, markers and all.
        text: of the answer itself, in pieces.
        reasoning: of the thought before it, in pieces.
        calls: those that are whole.
        drafted_rounds: rounds that had a draft.
        stopped: a stop string has ended it.
    """

    reader: Reader
    stops: StopStrings
    utf8: Utf8Stream = field(default_factory=Utf8Stream)
    ids: list[int] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    drafted_rounds: int = 0
    stopped: bool = False

    def feed(self, data: bytes, drafted: bool) -> list[AnswerEvent]:
        """Take the bytes of one token."""
        text = self.utf8.feed(data)
        self.written.append(text)
        text, self.stopped = self.stops.feed(text)
        return self._deltas(self.reader.feed(text, drafted))

    def finish(self) -> list[AnswerEvent]:
        """Give out what was held back."""
        pieces: list[Piece | CallPiece] = []
        if not self.stopped:
            text, self.stopped = self.stops.feed(self.utf8.finish())
            pieces = self.reader.feed(text + ("" if self.stopped else self.stops.finish()))
        return self._deltas(pieces + self.reader.finish())

    def message(self) -> Message:
        """The answer as a turn of the conversation."""
        text, thought = "".join(self.text), "".join(self.reasoning)
        return Message("assistant", text, thought or None, tuple(self.calls))

    def _deltas(self, pieces: list[Piece | CallPiece]) -> list[AnswerEvent]:
        deltas: list[AnswerEvent] = []
        for piece in pieces:
            if isinstance(piece, CallPiece):
                call = piece.call
                deltas.append(CallDelta(call.name, call.arguments, piece.done, piece.reason))
                self.calls += [call] if piece.done else []
            elif piece.kind == "text":
                self.text.append(piece.text)
                deltas.append(TextDelta(piece.text, piece.drafted))
            else:
                self.reasoning.append(piece.text)
                deltas.append(ReasoningDelta(piece.text, piece.drafted))
        return deltas
