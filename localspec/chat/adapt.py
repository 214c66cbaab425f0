"""What turns a template can take, found by rendering, and messages changed to what it takes.

Some templates refuse a system turn, demand that user and assistant alternate, or want content as a
list of parts; some do neither and print nothing. Nothing said may get lost, so what a template does
not print as it is, it gets in another form. This file knows no model names; `template.py` calls it
before each rendering.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message

Turn = dict[str, object]
"""One message as templates see it: "role", "content" and further keys of OpenAI's shape."""

Render = Callable[[Sequence[Turn], bool], str]
"""Renders turns as they are; the flag asks for the generation prompt."""

_SYSTEM, _SYSTEM_2 = "qzsysone", "qzsystwo"
_USER, _USER_2 = "qzaskone", "qzasktwo"
_REPLY, _REPLY_2 = "qzsayone", "qzsaytwo"
_THOUGHT = "qzthought"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a template prints without loss or complaint.

    Attributes:
        parts: content must be a list of parts, text is not printed.
        thought_parts: an earlier thought must be a part of the content.
        system: a system turn at the start.
        later_system: a system turn after others.
        assistant_first: a conversation that the assistant begins.
        repeats: roles that may speak twice in a row.
    """

    parts: bool = False
    thought_parts: bool = False
    system: bool = True
    later_system: bool = True
    assistant_first: bool = True
    repeats: frozenset[str] = frozenset(("system", "user", "assistant"))


def find_abilities(render: Render) -> Abilities:
    """Try out a template with short conversations.

    Raises:
        UnsupportedFileError: rendering takes too much time or memory.
    """

    def prints(turns: Sequence[Turn], *words: str, prompt: bool = True) -> bool:
        try:
            text = render(turns, prompt)
        except UnsupportedFileError:
            raise
        except LocalspecError:
            return False
        return all(word in text and not _is_quoted(word, text) for word in words)

    parts = not prints([_turn("user", _USER)], _USER)
    if parts and not prints([_turn("user", _USER, parts=True)], _USER):
        # It cannot even print this: the rendering of real messages will say why.
        return Abilities()

    def takes(*turns: tuple[str, str]) -> bool:
        made = [_turn(role, content, parts=parts) for role, content in turns]
        return prints(made, *(content for _, content in turns))

    ask, reply, ask_2 = ("user", _USER), ("assistant", _REPLY), ("user", _USER_2)
    system, system_2 = ("system", _SYSTEM), ("system", _SYSTEM_2)
    repeats = {
        "system": takes(system, system_2, ask),
        "user": takes(ask, ask_2),
        "assistant": takes(ask, reply, ("assistant", _REPLY_2), ask_2),
    }
    has_system = takes(system, ask)
    return Abilities(
        parts=parts,
        thought_parts=_wants_thought_parts(prints, parts),
        system=has_system,
        later_system=has_system and takes(system, ask, reply, system_2, ask_2),
        assistant_first=takes(reply, ask),
        repeats=frozenset(role for role, allowed in repeats.items() if allowed),
    )


def _is_quoted(word: str, text: str) -> bool:
    """True where a list of parts was printed as a list, which is no text for a model."""
    return f"'{word}'" in text or f'"{word}"' in text


def _wants_thought_parts(prints: Callable[..., bool], parts: bool) -> bool:
    ask = _turn("user", _USER, parts=parts)
    reply: Turn = {"role": "assistant", "content": _REPLY, "reasoning_content": _THOUGHT}
    as_key = [ask, _shaped(reply, Abilities(parts=parts))]
    as_part = [ask, _shaped(reply, Abilities(thought_parts=True))]
    return not prints(as_key, _THOUGHT, prompt=False) and prints(
        as_part, _THOUGHT, _REPLY, prompt=False
    )


def to_turn(message: Message) -> Turn:
    """A message as templates expect it; a thought goes under both names in use."""
    turn: Turn = {"role": message.role, "content": message.content}
    if message.reasoning:
        turn |= {"reasoning_content": message.reasoning, "thinking": message.reasoning}
    return turn


def adapt(turns: Sequence[Turn], able: Abilities) -> list[Turn]:
    """The same conversation in turns the template can take. The input is not changed."""
    made = _fold_system(turns, able)
    made = _merge_repeats(made, able)
    if not able.assistant_first:
        first = next((i for i, turn in enumerate(made) if turn["role"] != "system"), 0)
        if made and made[first]["role"] == "assistant":
            made.insert(first, _turn("user", ""))
    return [_shaped(turn, able) for turn in made]


def _fold_system(turns: Sequence[Turn], able: Abilities) -> list[Turn]:
    """Put system text that the template cannot take before the next user's text."""
    made: list[Turn] = []
    pending: list[str] = []
    for turn in turns:
        leading = all(earlier["role"] == "system" for earlier in made)
        if turn["role"] == "system" and not (able.system if leading else able.later_system):
            pending.append(str(turn["content"]))
            continue
        if pending and turn["role"] == "user":
            turn = {**turn, "content": "\n".join([*pending, str(turn["content"])])}
        elif pending:
            made.append(_turn("user", "\n".join(pending)))
        pending = []
        made.append(turn)
    if pending:
        made.append(_turn("user", "\n".join(pending)))
    return made


def _merge_repeats(turns: Sequence[Turn], able: Abilities) -> list[Turn]:
    """Join neighbours of one role, with a blank line, where the template wants them to differ."""
    made: list[Turn] = []
    for turn in turns:
        if (
            made
            and turn["role"] == made[-1]["role"]
            and turn["role"] in ("system", "user", "assistant")
            and turn["role"] not in able.repeats
            and not made[-1].get("tool_calls")
        ):
            made[-1] = _joined(made[-1], turn)
        else:
            made.append(turn)
    return made


def _joined(first: Turn, second: Turn) -> Turn:
    texts: Turn = {
        key: "\n\n".join(str(turn[key]) for turn in (first, second) if turn.get(key))
        for key in ("content", "reasoning_content", "thinking")
        if key in first or key in second
    }
    return {**first, **second, **texts}


def _shaped(turn: Turn, able: Abilities) -> Turn:
    thought, content = turn.get("reasoning_content"), turn.get("content")
    if able.thought_parts and thought:
        parts: list[Turn] = [{"type": "thinking", "thinking": thought}]
        parts += [{"type": "text", "text": content}] if content else []
        kept = {k: v for k, v in turn.items() if k not in ("reasoning_content", "thinking")}
        return {**kept, "content": parts}
    if able.parts and isinstance(content, str):
        return {**turn, "content": [{"type": "text", "text": content}]}
    return turn


def _turn(role: str, content: str, parts: bool = False) -> Turn:
    return {"role": role, "content": [{"type": "text", "text": content}] if parts else content}
