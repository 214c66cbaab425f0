"""How a model writes its reply, derived from its template: where a thought starts and ends.

Three ways to find the markers, surest first: render a reply with a thought, compare the prompt with
thinking on and off, look for closing tags in the source. No model names. `parser.py` splits replies
with what is found here; the shapes of tool calls will stand beside `reasoning`.
"""

import re
from dataclasses import dataclass
from typing import Self

from localspec.chat.template import ChatTemplate
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
    """

    reasoning: Markers | None = None

    @classmethod
    def derive(cls, template: ChatTemplate) -> Self:
        """Read the format from a template.

        Raises:
            UnsupportedFileError: rendering takes too much time or memory.
        """
        return cls(
            reasoning=_from_history(template)
            or _from_switch(template)
            or _from_source(template.source)
        )

    def starts_in_reasoning(self, rendered_prompt: str) -> bool:
        """True if the prompt has opened the thought, so the reply begins inside it."""
        if self.reasoning is None:
            return False
        return rendered_prompt.rstrip().endswith(self.reasoning.start)


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
    if on == off or not on or not off:
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
