"""A grammar of replies that may call tools: free text until a call begins, then only what the tools take.

The way calls are written comes from the template (`chat/format.py`), so what a reader understands
(`chat/reply.py`) and what this lets a model write are the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llguidance import LLMatcher

from localspec.chat.format import ChatFormat
from localspec.chat.toolcalls.layout import CallLayout
from localspec.events import Notice
from localspec.grammar.channels import channel_rules
from localspec.grammar.lark import ANY, Rules, any_of, exactly, json_body, quoted
from localspec.grammar.shapes import call_body, closed
from localspec.grammar.thoughts import Thoughts
from localspec.grammar.tokens import GrammarTokens
from localspec.messages import ToolSpec

_TAG = re.compile(r"<[^<>\s]+>|\[[A-Z_/]+\]|\S+")
_SPACE = r"[ \t\r\n]*"
_MOST_CALLS = 16
"""Calls in a row: a small model that may go on goes on."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether a model may, must or may not call.

    Attributes:
        mode: "auto" leaves it to the model, "required" has it call, "none" forbids it.
        name: the only tool it may call; None for any.
    """

    mode: str = "auto"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class CallGrammar:
    """A grammar, and what it cannot hold a model to."""

    source: str
    notices: tuple[Notice, ...] = ()


def call_grammar(
    form: ChatFormat, tools: Sequence[ToolSpec], choice: ToolChoice, tokens: GrammarTokens
) -> CallGrammar:
    """The grammar of a reply.

    Args:
        form: how the model writes.
        tools: what may be called, at least one.
        choice: see `ToolChoice`; its name is one of the tools'.
        tokens: the model's.
    """
    if choice.name is not None:
        tools = [tool for tool in tools if tool.name == choice.name]
    notices: list[Notice] = []
    holdable = [_holdable(tool, notices) for tool in tools]
    rules = Rules(tokens)
    if form.channels:
        channel_rules(rules, holdable, choice.mode)
    else:
        _Calls(rules, form, holdable).start(choice.mode)
    return CallGrammar(rules.source, tuple(notices))


def _holdable(tool: ToolSpec, notices: list[Notice]) -> ToolSpec:
    """The tool with a schema that a grammar can be made of."""
    source = f"start: {json_body(closed(tool.parameters), 'exact')}"
    is_error, messages = LLMatcher.validate_grammar_with_warnings(source)
    if not is_error:
        return tool
    reason = messages[0].splitlines()[0] if messages else "unknown"
    notices.append(Notice(f"The arguments of {tool.name} are not held to their schema: {reason}."))
    return replace(tool, parameters={"type": "object"})


class _Calls:
    """The rules of replies whose calls stand between markers, or are a bare object."""

    def __init__(self, rules: Rules, form: ChatFormat, tools: Sequence[ToolSpec]) -> None:
        self._rules = rules
        self._layout = layout = form.calls
        self._tools = tools
        self._thoughts = Thoughts(rules, form.reasoning)
        bodies = [call_body(rules, layout, tool, f"f{i}") for i, tool in enumerate(tools)]
        tail = rules.add("tail", any_of(bodies))
        self._begun = self._beginnings(rules, layout, tail)

    def start(self, mode: str) -> None:
        """Add the rule `start`."""
        rules = self._rules
        calls = [f"{rules.literal(mark)} {rest}" for mark, rest in self._begun[:1]]
        if mode == "required":
            rules.add("start", f"{self._thoughts.lead} WS {calls[0]} WS")
        elif self._bare:
            self._start_bare(calls[0], mode)
        elif mode == "none":
            self._start_without()
        else:
            self._start_lazily()

    @property
    def _bare(self) -> bool:
        return len(self._begun[0][0]) <= 2

    def _start_lazily(self) -> None:
        """Free text, in which a marker begins a call."""
        rules = self._rules
        marks = [mark for mark, _ in self._begun]
        events = [
            f"{rules.upto(f'upto{i}', mark)} {rest}" for i, (mark, rest) in enumerate(self._begun)
        ]
        events += self._thoughts.events
        if others := rules.others(*marks, *self._thoughts.markers):
            events.append(f"TEXT {others}")
        rules.add("event", " | ".join(events))
        rules.add("start", f"event* {self._thoughts.ending}")

    def _start_without(self) -> None:
        rules = self._rules
        marks = [mark for mark, _ in self._begun]
        patterns = [f"{ANY}{exactly(mark)}{ANY}" for mark in marks if not rules.is_token(mark)]
        free = rules.without("FREE", *patterns)
        others = rules.others(*marks, *self._thoughts.markers)
        rules.add("start", f"{self._thoughts.lead} ({free} {others})* {free}" if others else free)

    def _start_bare(self, calls: str, mode: str) -> None:
        """An object that names a tool is a call; of a list of them nobody can tell before its second word."""
        rules, layout = self._rules, self._layout
        begins = rf"\{{{_SPACE}{exactly(quoted(layout.name_key.partition('.')[0]))}"
        if layout.shape == "python":
            begins = f"({'|'.join(exactly(tool.name) for tool in self._tools)})\\("
        others = rules.others(*self._thoughts.markers)
        further = f"({others} TEXT)*" if others else ""
        if mode == "auto" and layout.opening.strip():
            rules.add("start", f"{self._thoughts.lead} TEXT {further}")
            return
        free = rules.without("FREE", rf"{_SPACE}\[?{_SPACE}{begins}{ANY}")
        either = free if mode == "none" else f"({calls} WS | {free} {further})"
        rules.add("start", f"{self._thoughts.lead} {either}")

    @staticmethod
    def _beginnings(rules: Rules, layout: CallLayout, tail: str) -> list[tuple[str, str]]:
        """Markers with the body of what follows each, the usual one first."""
        opening, before = layout.opening, layout.before_name
        call = rules.add("call", f"{rules.literal(before)} {tail}" if before else tail)
        listed = opening.rstrip().endswith("[")
        between = '"," WS' if listed and not before[:1].isspace() else '","' if listed else "WS"
        if not listed and before[:1].isspace():
            between = '""'
        closing = rules.literal(layout.closing)
        found: list[tuple[str, str]] = []
        if opening.strip():
            mark, rest = _head(opening)
            calls = f"{call} ({between} {call}){{0,{_MOST_CALLS - 1}}}"
            found.append((mark, f"{rules.literal(rest)} {calls} {closing}"))
        mark, rest = _head(before)
        further = (
            f"({between} {call}){{0,{_MOST_CALLS - 1}}}"
            if before.strip() and not opening.strip()
            else ""
        )
        if before.strip() and (len(mark) > 2 or not found):
            found.append((mark, f"{rules.literal(rest)} {tail} {further}"))
        inner = before[before.rfind("<") :] if "<" in before else ""
        # models forget the tags around the one that has the name
        if len(inner) > 2 and inner.strip() not in (mark, before.strip()):
            inner_mark, inner_rest = _head(inner)
            found.append((inner_mark, f"{rules.literal(inner_rest)} {tail}"))
        return found or [("", call)]


def _head(marker: str) -> tuple[str, str]:
    """The first tag or word of a marker, and the rest of it."""
    marker = marker.lstrip()
    found = _TAG.match(marker)
    return (found[0], marker[found.end() :]) if found else ("", marker)
