"""How a model writes its reply, derived from its template: where a thought starts and ends.

Three ways to find the markers, surest first: render a reply with a thought, compare the prompt with
thinking on and off, look for closing tags in the source. No model names. `parser.py` splits replies
with what is found here; the shapes of tool calls will stand beside `reasoning`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from localspec.chat.template import ChatTemplate
from localspec.chat.toolcalls.derive import (
    DEFAULT_LAYOUT,
    common_prefix,
    derive_layout,
    probe_tool,
)
from localspec.chat.toolcalls.layout import CallLayout
from localspec.chat.turns import Turn
from localspec.errors import LocalspecError, UnsupportedFileError

_TAG = r"(?:<[^<>\s]{1,60}>|\[[^\[\]\s]{1,60}\]|◁[^◁▷\s]{1,60}▷)"
_TAGS = re.compile(_TAG)
_OPENS = re.compile(rf"({_TAG})([\w ]{{0,20}})\s*$")
_CLOSES = re.compile(rf"\s*({_TAG})")
_PAIR = re.compile(rf"({_TAG})([\w ]{{0,20}})\s*({_TAG})\s*$")

_THINK = r"[\w:.-]*(?:think|thought|reason)[\w:.-]*"
_CLOSING_TAGS = (
    (re.compile(rf"</({_THINK})>", re.I), "<{}>"),
    (re.compile(rf"\[/({_THINK})\]", re.I), "[{}]"),
    (re.compile(rf"◁/({_THINK})▷", re.I), "◁{}▷"),
    (re.compile(rf"<\|/({_THINK})\|>", re.I), "<|{}|>"),
    (re.compile(r"<\|END_([A-Z_]*(?:THINK|THOUGHT|REASON)[A-Z_]*)\|>"), "<|START_{}|>"),
    (re.compile(rf"<\|end_of_({_THINK})\|>"), "<|begin_of_{}|>"),
)

_CHANNEL, _MESSAGE = "<|channel|>", "<|message|>"

_USER, _REPLY, _THOUGHT = "qzask", "qzsay", "qzthought"


@dataclass(frozen=True, slots=True)
class Markers:
    """What stands before and after a thought, without the white space around it."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How replies are written.

    Attributes:
        reasoning: the markers of a thought, None where the template knows none.
        calls: how calls of tools are written.
        channels: replies come in channels, see `harmony.py`.
        header: what begins a turn of the model, after a question.
        content: what stands around an answer; None for nothing.
        end: what ends a turn of the model.
        opening: what the prompt has begun for the model of every reply, and belongs to that.
    """

    reasoning: Markers | None = None
    calls: CallLayout = DEFAULT_LAYOUT
    channels: bool = False
    header: str = ""
    content: Markers | None = None
    end: str = ""
    opening: str = ""

    @classmethod
    def derive(cls, template: ChatTemplate) -> "ChatFormat":
        """Read the format from a template.

        Raises:
            UnsupportedFileError: rendering takes too much time or memory.
        """
        reasoning = (
            _from_history(template) or _from_switch(template) or _from_source(template.source)
        )
        found = cls(
            reasoning,
            derive_layout(
                partial(_with_calls, template),
                template.source,
                reasoning.end if reasoning else "",
            ),
            _CHANNEL in template.source and _MESSAGE in template.source,
            *_turn_of_the_model(template, reasoning),
        )
        return _addressed(found, template)

    def opened_by(self, rendered_prompt: str) -> str:
        """The thought that a prompt has begun for the model, closed or not; empty where it has begun none."""
        start = _CHANNEL if self.channels else self.reasoning.start if self.reasoning else ""
        at = rendered_prompt.rfind(self.header) if self.header else -1
        begun = rendered_prompt[at + len(self.header) :] if at >= 0 else ""
        if start and start in begun:
            return begun[begun.find(start) :]
        ends = (self.opening, start)
        return next((end for end in ends if end and rendered_prompt.rstrip().endswith(end)), "")


def _render(
    template: ChatTemplate, turns: list[Turn], *, prompt: bool, thinking: bool = True
) -> str:
    """The rendered text, empty where the template refuses."""
    try:
        return template.render_turns(
            turns, add_generation_prompt=prompt, extras={"enable_thinking": thinking}
        )
    except UnsupportedFileError:
        raise
    except LocalspecError:
        return ""


def _with_calls(template: ChatTemplate, say: str, calls: Sequence[Mapping[str, object]]) -> str:
    """A conversation in which the assistant said something and made calls of the probe's tools."""
    turn: Turn = {"role": "assistant", "content": say}
    if calls:
        turn["tool_calls"] = list(calls)
    try:
        return template.render_turns(
            [_user(), turn], tools=[probe_tool()], add_generation_prompt=False
        )
    except UnsupportedFileError:
        raise
    except LocalspecError:
        return ""


def _turn_of_the_model(
    template: ChatTemplate, reasoning: Markers | None
) -> tuple[str, Markers | None, str]:
    """What begins a turn of the model, what stands around its answer, and what ends the turn."""
    said: list[Turn] = [_user(), {"role": "assistant", "content": _REPLY}]
    _, _, after_user = _render(template, said, prompt=False).partition(_USER)
    between, _, end = after_user.partition(_REPLY)
    for marker in (reasoning.start, reasoning.end) if reasoning else ():
        between = between.partition(marker)[0]
    asked = _render(template, [_user()], prompt=True).partition(_USER)[2]
    header = (common_prefix(between, asked) or between).rstrip()
    start, closing = between[len(header) :].strip(), _CLOSES.match(end)
    content = Markers(start, closing.group(1)) if _TAGS.search(start) and closing else None
    return header, content, end


def _addressed(form: ChatFormat, template: ChatTemplate) -> ChatFormat:
    """The format of replies whose parts begin with their recipients (functionary 3.2: `>>>all`, `>>>name`).

    The first mark stands in the prompt, so what is before each further call belongs before the first.
    """
    mark = form.calls.after_arguments.strip()
    lone = form.calls.shape == "named-json" and not form.calls.before_name.strip()
    if not (lone and mark and form.header.endswith(mark)):
        return form
    said: list[Turn] = [_user(), {"role": "assistant", "content": _REPLY}]
    before = _render(template, said, prompt=False).partition(_USER)[2].partition(_REPLY)[0]
    everybody = before.rpartition(mark)[2]
    return replace(
        form,
        calls=replace(form.calls, before_name=mark, after_arguments=""),
        header=form.header.removesuffix(mark).rstrip(),
        content=Markers(mark + everybody, "") if everybody.strip() else None,
        opening=mark,
    )


def _user() -> Turn:
    return {"role": "user", "content": _USER}


def _around_user(template: ChatTemplate) -> set[str]:
    """The tags next to a user's text: they make up turns and mark no thought."""
    before, found, after = _render(template, [_user()], prompt=False).partition(_USER)
    opening, closing = _OPENS.search(before), _CLOSES.match(after)
    if not found:
        return set()
    return {match.group(1) for match in (opening, closing) if match}


def _from_history(template: ChatTemplate) -> Markers | None:
    """Render a reply that has a thought, and take the tags around the thought."""
    thought: Turn = {"role": "assistant", "reasoning_content": _THOUGHT, "thinking": _THOUGHT}
    call: Turn = {
        "type": "function",
        "id": "call00001",
        "function": {"name": "probe", "arguments": {"x": "y"}},
    }
    turn_tags = _around_user(template)
    # Some templates print an earlier thought only where a call follows it.
    for rest in ({"content": _REPLY}, {"content": "", "tool_calls": [call]}):
        text = _render(template, [_user(), {**thought, **rest}], prompt=False)
        before, found, after = text.partition(_THOUGHT)
        opening, closing = _OPENS.search(before), _CLOSES.match(after)
        if not (found and opening and closing):
            continue
        if turn_tags.isdisjoint((opening.group(1), closing.group(1))):
            return Markers((opening.group(1) + opening.group(2)).strip(), closing.group(1))
    return None


def _from_switch(template: ChatTemplate) -> Markers | None:
    """Compare the ends of the prompt with thinking on and off: off closes an empty thought."""
    on = _render(template, [_user()], prompt=True).rstrip()
    off = _render(template, [_user()], prompt=True, thinking=False).rstrip()
    # a prompt that is only longer with thinking on shows what opens a thought, and not what closes it
    if on.startswith(off) or not off:
        return None
    last_on = _OPENS.search(on)
    if off.startswith(on):
        tail = _TAGS.findall(off[len(on) :])
        if len(tail) == 1 and last_on and not last_on.group(2):
            return Markers(last_on.group(1), tail[0])
    elif last_on and not last_on.group(2):
        last_off = _OPENS.search(off)
        if last_off and last_off.group(1) != last_on.group(1) and not last_off.group(2):
            return Markers(last_on.group(1), last_off.group(1))
    pair = _PAIR.search(off)
    if pair and not on.endswith(pair.group(0).rstrip()):
        return Markers((pair.group(1) + pair.group(2)).strip(), pair.group(3))
    return None


def _from_source(source: str) -> Markers | None:
    """Find a closing tag whose name speaks of thinking."""
    for pattern, start in _CLOSING_TAGS:
        match = pattern.search(source)
        if match:
            return Markers(start.format(match.group(1)), match.group(0))
    return None
