"""Replies in channels, as gpt-oss writes them: each message has a header that says what it is and for whom.

`<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`: analysis is thought,
a message to a function is a call, all else is text (OpenAI's harmony response format).
"""

import re

from localspec.chat.parser import held_back
from localspec.chat.pieces import CallPiece, Held, Piece, PieceKind
from localspec.messages import ToolCall

_MESSAGE, _CHANNEL = "<|message|>", "<|channel|>"
_HEADER_STARTS = ("<|start|>", _CHANNEL, "to=", "assistant")
_ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|start|>", _CHANNEL)
_END = re.compile("|".join(map(re.escape, _ENDS)))
_TO = re.compile(r"to=(functions\.)?([^\s<>]+)")


class HarmonyReader:
    """Reads one reply; has the interface of `ReplyReader`.

    Args:
        calls: a message to a function is a call; else it is text.
        keep_thoughts: leave them in the text, as they were written.
    """

    def __init__(self, *, calls: bool = True, keep_thoughts: bool = False) -> None:
        self._calls = calls
        self._keep_thoughts = keep_thoughts
        self._held = Held()
        self._in_body = False
        self._header = ""
        self._call: ToolCall | None = None
        self._foreign = False

    def feed(self, text: str, drafted: bool = False) -> list[Piece | CallPiece]:
        """Take more of the reply; `drafted` holds for all of `text`."""
        self._held.add(text, drafted)
        return self._taken(final=False)

    def finish(self) -> list[Piece | CallPiece]:
        """The reply is over; a call that has come to an end needs no marker after it."""
        made = self._taken(final=True)
        return made + self._ended() if self._in_body else made

    def _taken(self, *, final: bool) -> list[Piece | CallPiece]:
        made: list[Piece | CallPiece] = []
        more = True
        while self._held.text and more:
            more = self._body(made, final) if self._in_body else self._head(made, final)
        return made

    def _head(self, made: list[Piece | CallPiece], final: bool) -> bool:
        text = self._held.text.lstrip()
        like_header = text.startswith(_HEADER_STARTS)
        may_be = any(start.startswith(text) for start in _HEADER_STARTS)
        if not like_header and not (may_be and not final):
            # no channels at all: a model that forgot them
            self._begin("")
            return True
        end = self._held.text.find(_MESSAGE)
        if end < 0:
            if final:
                made += self._held.take(len(self._held.text))
            return False
        header = self._held.text[: end + len(_MESSAGE)]
        if self._keep_thoughts and _kind(header) == "reasoning":
            start = header.find(_CHANNEL)
            self._held.drop(start)
            made += self._held.take(len(header) - start)
        else:
            self._held.drop(len(header))
        self._begin(header)
        return True

    def _begin(self, header: str) -> None:
        self._header, self._in_body = header, True
        to = _TO.findall(header)
        function, name = to[-1] if to else ("", "")
        self._foreign = bool(name) and not function and name not in ("assistant", "user", "all")
        called = self._foreign or (self._calls and function)
        self._call = ToolCall(name, "") if called else None

    def _body(self, made: list[Piece | CallPiece], final: bool) -> bool:
        text = self._held.text
        end = _END.search(text)
        certain = end.start() if end else len(text) - (0 if final else held_back(text, *_ENDS))
        if self._call is not None:
            self._call = ToolCall(self._call.name, self._call.arguments + text[:certain])
            self._held.drop(certain)
            if not self._foreign and certain:
                made.append(CallPiece(self._call))
        else:
            kind: PieceKind = "text" if self._keep_thoughts else _kind(self._header)
            made += self._held.take(certain, kind)
        if end is None:
            return False
        closing = end[0] if end[0] not in ("<|start|>", _CHANNEL) else ""
        if self._keep_thoughts and _kind(self._header) == "reasoning":
            made += self._held.take(len(closing))
        else:
            self._held.drop(len(closing))
        made += self._ended()
        return True

    def _ended(self) -> list[Piece | CallPiece]:
        """A message is over."""
        call, self._call, self._in_body = self._call, None, False
        if call is None:
            return []
        if self._foreign:
            return [CallPiece(call, reason="it is for no function of ours")]
        return [CallPiece(call, done=True)]


def _kind(header: str) -> PieceKind:
    channel = header.rpartition(_CHANNEL)[2]
    return "reasoning" if channel.startswith("analysis") and "to=" not in header else "text"
