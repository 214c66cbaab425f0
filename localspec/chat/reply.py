"""A reply as it streams in: thought, answer and calls of tools.

Calls are taken out first (`toolcalls/scanner.py`), all other text goes on to `parser.py`. What looks like a
call and turns out to be none is the text that it is; nothing is lost, and only a whole call is ever done.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Protocol

from localspec.chat.format import ChatFormat
from localspec.chat.harmony import HarmonyReader
from localspec.chat.parser import ReplyParser, held_back
from localspec.chat.pieces import CallPiece, Held, Piece
from localspec.chat.toolcalls.reading import Types
from localspec.chat.toolcalls.scanner import CallScanner, Start
from localspec.messages import ToolCall, ToolSpec


class Reader(Protocol):
    """Reads one reply, however it is cut."""

    def feed(self, text: str, drafted: bool = False) -> list[Piece | CallPiece]:
        """Take more of the reply; `drafted` holds for all of `text`. What is certain now, in order."""

    def finish(self) -> list[Piece | CallPiece]:
        """The reply is over: what was held back."""


def reader_of(
    format: ChatFormat, tools: Sequence[ToolSpec] = (), *, keep_thoughts: bool = False
) -> Reader:
    """What reads a reply; feed it first what the prompt has already said for the model.

    Args:
        format: how the model writes replies.
        tools: what may be called; without any, no text is a call.
        keep_thoughts: leave them in the text, as they were written.
    """
    if format.channels:
        return HarmonyReader(calls=bool(tools), keep_thoughts=keep_thoughts)
    return ReplyReader(format, tools, keep_thoughts=keep_thoughts)


class _State(Enum):
    OUTSIDE = auto()
    OPENED = auto()  # after what stands before all calls
    CALL = auto()
    AFTER = auto()  # after the arguments of a call
    BETWEEN = auto()


class ReplyReader:
    """Reads a reply of text with markers (see `reader_of`)."""

    def __init__(
        self, format: ChatFormat, tools: Iterable[ToolSpec] = (), *, keep_thoughts: bool = False
    ) -> None:
        self._parser = ReplyParser(ChatFormat() if keep_thoughts else format)
        self._around = (format.content.start, format.content.end) if format.content else ()
        self._tools = _types(tools)
        self._scanner = CallScanner(format.calls, self._tools) if self._tools else None
        # a bare object is a call if an answer begins with it, which may be after a thought
        bare = self._scanner is not None and self._scanner.bare
        self._thought_end = format.reasoning.end if bare and format.reasoning else ""
        self._held = Held()
        self._state = _State.OUTSIDE
        self._body = 0
        self._shown: ToolCall | None = None
        self._said_something = False
        self._called = False
        self._made: list[Piece | CallPiece] = []

    def feed(self, text: str, drafted: bool = False) -> list[Piece | CallPiece]:
        """See `Reader.feed`."""
        self._held.add(text, drafted)
        return self._taken(final=False)

    def finish(self) -> list[Piece | CallPiece]:
        """See `Reader.finish`; a call that is not whole is the text it looks like."""
        return [*self._taken(final=True), *self._parser.finish()]

    def _taken(self, *, final: bool) -> list[Piece | CallPiece]:
        self._made = []
        while self._held.text and self._step(final):
            pass
        return self._made

    def _step(self, final: bool) -> bool:
        """Settle what can be settled; True if there may be more."""
        scanner = self._scanner
        if scanner is None or self._state is _State.OUTSIDE:
            return self._outside(final)
        match self._state:
            case _State.OPENED:
                return self._opened(scanner, final)
            case _State.CALL:
                return self._call(scanner, final)
            case _State.AFTER:
                return self._after(scanner, final)
            case _State.BETWEEN:
                return self._between(scanner, final)

    def _outside(self, final: bool) -> bool:
        if self._called:
            # white space between a call and what follows is nobody's
            self._held.drop(len(self._held.text) - len(self._held.text.lstrip()))
            if not self._held.text:
                return False
            self._called = False
        fresh = not self._said_something and not self._parser.thinking
        start = self._scanner.find(self._held.text, fresh=fresh) if self._scanner else None
        if start is not None and (mark := self._mark_at(start.at, final)) is not None:
            # what is around an answer may begin as a call does
            return self._plain(start.at + len(mark), final) if mark else False
        if start is None or (start.body < 0 and final):
            return self._plain(len(self._held.text), final)
        if self._plain(start.at, final or start.body >= 0):
            return True
        start = Start(0, start.body - start.at, start.opened) if start.body >= 0 else start
        if start.body < 0:
            return False
        self._body = start.body
        self._state = _State.OPENED if start.opened else _State.CALL
        return True

    def _mark_at(self, position: int, final: bool) -> str | None:
        """The mark around an answer that stands there; empty if it may come yet, None if it does not."""
        text = self._held.text[position:]
        for mark in self._around:
            if mark and text.startswith(mark):
                return mark
            if mark.startswith(text) and not final:
                return ""
        return None

    def _plain(self, n: int, final: bool) -> bool:
        """Pass on the first `n` characters, but for markers around an answer; True if there was one."""
        text = self._held.text[:n]
        marks = [mark for mark in (*self._around, self._thought_end) if mark]
        found = [(at, mark) for mark in marks if (at := text.find(mark)) >= 0]
        if found:
            at, mark = min(found)
            self._pass_on(at + len(mark) if mark == self._thought_end else at)
            self._held.drop(0 if mark == self._thought_end else len(mark))
            return True
        whole = self._held.text
        self._pass_on(n if final else min(n, len(whole) - held_back(whole, *marks)))
        return False

    def _opened(self, scanner: CallScanner, final: bool) -> bool:
        what, position = scanner.following(self._held.text[self._body :], final=final)
        if what == "more":
            return False
        if what == "end":
            self._give_up("no call follows")
        else:
            self._body += position
            self._state = _State.CALL
        return True

    def _call(self, scanner: CallScanner, final: bool) -> bool:
        reading = scanner.read(self._held.text[self._body :])
        call, thinking = reading.call, self._parser.thinking
        if thinking and call is not None and call.name not in self._tools:
            # a thought about calls
            self._give_up("it names no tool")
        elif reading.state == "broken":
            self._give_up(reading.reason)
        elif reading.state == "done" and call is not None:
            self._made += [*self._parser.interrupt(), CallPiece(call, done=True)]
            self._held.drop(self._body + reading.length)
            self._shown, self._body = None, 0
            self._state = _State.AFTER
        elif final:
            self._give_up("it breaks off")
        else:
            if call is not None and call != self._shown and not thinking:
                self._made.append(CallPiece(call))
                self._shown = call
            return False
        return True

    def _after(self, scanner: CallScanner, final: bool) -> bool:
        position = scanner.after(self._held.text, final=final)
        if position is None:
            return False
        self._held.drop(position)
        self._state = _State.BETWEEN
        return True

    def _between(self, scanner: CallScanner, final: bool) -> bool:
        what, position = scanner.following(self._held.text, final=final)
        if what == "more":
            return False
        if what == "call":
            self._body, self._state = position, _State.CALL
        else:
            self._held.drop(position)
            self._called, self._state = True, _State.OUTSIDE
        return True

    def _give_up(self, reason: str) -> None:
        """What was taken for a call is text, and what follows its marker is looked at again."""
        if self._shown is not None:
            self._made.append(CallPiece(self._shown, reason=reason))
        self._pass_on(max(self._body, 1))
        self._shown, self._body = None, 0
        self._state = _State.OUTSIDE

    def _pass_on(self, n: int) -> None:
        for run in self._held.take(n):
            pieces = self._parser.feed(run.text, run.drafted)
            self._made += pieces
            self._said_something |= any(p.kind == "text" and p.text.strip() for p in pieces)


def _types(tools: Iterable[ToolSpec]) -> Types:
    """Schemas of arguments by tool."""
    found: dict[str, dict[str, object]] = {}
    for tool in tools:
        properties = tool.parameters.get("properties")
        found[tool.name] = dict(properties) if isinstance(properties, dict) else {}
    return found
