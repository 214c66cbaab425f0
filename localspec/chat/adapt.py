"""Messages changed to what a template takes.

Some templates refuse a system turn, demand that user and assistant alternate, or want content as a
list of parts; some know no tools. Nothing said may get lost, so what a template does not print as it is
(`abilities.py`), it gets in another form. `template.py` calls this before each rendering.
"""

import hashlib
from collections.abc import Sequence

from localspec.chat.abilities import Abilities
from localspec.chat.turns import (
    Turn,
    calls_of,
    function_of,
    parsed_arguments,
    plain_turn,
    written_arguments,
)

_ID_LENGTH = 9


def adapt(turns: Sequence[Turn], able: Abilities) -> list[Turn]:
    """The same conversation in turns the template can take. The input is not changed."""
    made = _fold_system([_called(turn, able) for turn in turns], able)
    made = _merge_repeats(made, able)
    if not able.assistant_first:
        first = next((i for i, turn in enumerate(made) if turn["role"] != "system"), 0)
        if made and made[first]["role"] == "assistant":
            made.insert(first, plain_turn("user", ""))
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
            made.append(plain_turn("user", "\n".join(pending)))
        pending = []
        made.append(turn)
    if pending:
        made.append(plain_turn("user", "\n".join(pending)))
    return made


def one_call_a_turn(turns: Sequence[Turn]) -> list[Turn]:
    """Each call in a turn of its own, with its answer after it, for templates that take or print but one."""
    made: list[Turn] = []
    waiting: list[Turn] = []
    for turn in turns:
        if turn["role"] != "tool":
            made += waiting
            waiting = []
        calls = calls_of(turn)
        if len(calls) > 1:
            first, *rest = ({**turn, "tool_calls": [call]} for call in calls)
            made.append(first)
            waiting = [{"role": turn["role"], **_only_calls(later)} for later in rest]
        elif turn["role"] == "tool" and made and made[-1]["role"] == "tool" and waiting:
            made += [waiting.pop(0), turn]
        else:
            made.append(turn)
    return made + waiting


def _only_calls(turn: Turn) -> Turn:
    return {"content": "", "tool_calls": turn["tool_calls"]}


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


def _called(turn: Turn, able: Abilities) -> Turn:
    """Calls and answers of tools in the form that the template prints."""
    calls = calls_of(turn)
    if turn["role"] == "tool":
        return {**turn, "tool_call_id": _id(turn.get("tool_call_id"), able)}
    if not calls:
        return turn
    made = [
        {
            **call,
            "id": _id(call.get("id"), able),
            "function": {**function_of(call), "arguments": _arguments(call, able)},
        }
        for call in calls
    ]
    # a template that adds the content to the calls finds text
    return {**turn, "content": turn.get("content") or "", "tool_calls": made}


def _arguments(call: Turn, able: Abilities) -> object:
    arguments = function_of(call).get("arguments")
    return written_arguments(arguments) if able.argument_text else parsed_arguments(arguments)


def _id(call_id: object, able: Abilities) -> object:
    """An id as the template takes it; calls and answers of one id still have one."""
    text = str(call_id or "")
    if not able.short_ids or (len(text) == _ID_LENGTH and text.isalnum()):
        return call_id
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]
