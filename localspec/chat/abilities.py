"""What turns a template can take, found by rendering. This file knows no model names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from localspec.chat.turns import Render, Turn, plain_turn
from localspec.errors import LocalspecError, UnsupportedFileError

_SYSTEM, _SYSTEM_2 = "qzsysone", "qzsystwo"
_USER, _USER_2 = "qzaskone", "qzasktwo"
_REPLY, _REPLY_2 = "qzsayone", "qzsaytwo"
_THOUGHT = "qzthought"
_TOOL, _KEY, _VALUE, _VALUE_2 = "qztool", "qzkey", "qzvalueone", "qzvaluetwo"
_RESULT, _RESULT_2 = "qzresultone", "qzresulttwo"
_IDS, _SHORT_IDS = ("call_qz-one", "call_qz-two"), ("callqzaa1", "callqzaa2")


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
        tools: the tools that may be called.
        calls: earlier calls, and the turns of tools.
        argument_text: the arguments of a call must be JSON text, not an object.
        short_ids: ids of calls must be nine letters or digits.
        parallel_calls: several calls in one turn.
    """

    parts: bool = False
    thought_parts: bool = False
    system: bool = True
    later_system: bool = True
    assistant_first: bool = True
    repeats: frozenset[str] = frozenset(("system", "user", "assistant"))
    tools: bool = True
    calls: bool = True
    argument_text: bool = False
    short_ids: bool = False
    parallel_calls: bool = True


def find_abilities(render: Render) -> Abilities:
    """Try out a template with short conversations.

    Raises:
        UnsupportedFileError: rendering takes too much time or memory.
    """

    def printed(turns: Sequence[Turn], *, prompt: bool = True, tools: bool = False) -> str:
        """The text, empty where the template refuses."""
        try:
            return render(turns, prompt, {"tools": [_tool()]} if tools else None)
        except UnsupportedFileError:
            raise
        except LocalspecError:
            return ""

    def prints(turns: Sequence[Turn], *words: str, prompt: bool = True) -> bool:
        text = printed(turns, prompt=prompt)
        return all(word in text and not _is_quoted(word, text) for word in words)

    parts = not prints([plain_turn("user", _USER)], _USER)
    if parts and not prints([plain_turn("user", _USER, parts=True)], _USER):
        # It cannot even print this: the rendering of real messages will say why.
        return Abilities()

    def takes(*turns: tuple[str, str]) -> bool:
        made = [plain_turn(role, content, parts=parts) for role, content in turns]
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
        **_tool_abilities(printed, parts),
    )


def _tool_abilities(printed: Callable[..., str], parts: bool) -> dict[str, bool]:
    """Try out calls with arguments and ids of each form."""
    ask = plain_turn("user", _USER, parts=parts)

    def prints_calls(
        ids: Sequence[str], results: Sequence[str], arguments: Callable[[str], object]
    ) -> bool:
        """True if all is there; an object that was printed as Python writes it is no JSON."""
        calls = [
            _call(i, arguments(value)) for i, value in zip(ids, (_VALUE, _VALUE_2), strict=False)
        ]
        answers = [
            {**plain_turn("tool", result, parts=parts), "name": _TOOL, "tool_call_id": i}
            for i, result in zip(ids, results, strict=True)
        ]
        turn = {**plain_turn("assistant", "", parts=parts), "tool_calls": calls}
        text = printed([ask, turn, *answers], tools=True)
        words = [_TOOL, _KEY, *(_VALUE, _VALUE_2)[: len(ids)], *results]
        return all(word in text for word in words) and not any(
            sign in text for sign in (f"{{'{_KEY}'", f'\\"{_KEY}', f'\'{{"{_KEY}"')
        )

    found = {"tools": _TOOL in printed([ask], tools=True)}
    for short_ids, ids in ((False, _IDS), (True, _SHORT_IDS)):
        for as_text, arguments in ((False, _object), (True, _text)):
            if prints_calls(ids[:1], [_RESULT], arguments):
                several = prints_calls(ids, [_RESULT, _RESULT_2], arguments)
                return found | {
                    "argument_text": as_text,
                    "short_ids": short_ids,
                    "parallel_calls": several,
                }
    return found | {"calls": False}


def _object(value: str) -> object:
    return {_KEY: value}


def _text(value: str) -> object:
    return f'{{"{_KEY}": "{value}"}}'


def _call(call_id: str, arguments: object) -> Mapping[str, object]:
    function = {"name": _TOOL, "arguments": arguments}
    return {"type": "function", "id": call_id, "function": function}


def _tool() -> Mapping[str, object]:
    parameter = {"type": "string", "description": "A word."}
    schema = {"type": "object", "properties": {_KEY: parameter}, "required": [_KEY]}
    function = {"name": _TOOL, "description": "A tool.", "parameters": schema}
    return {"type": "function", "function": function}


def _is_quoted(word: str, text: str) -> bool:
    """True where a list of parts was printed as a list, which is no text for a model."""
    return f"'{word}'" in text or f'"{word}"' in text


def _wants_thought_parts(prints: Callable[..., bool], parts: bool) -> bool:
    ask = plain_turn("user", _USER, parts=parts)
    key: Turn = plain_turn("assistant", _REPLY, parts=parts)
    key |= {"reasoning_content": _THOUGHT}
    thought = {"type": "thinking", "thinking": _THOUGHT}
    part: Turn = {"role": "assistant", "content": [thought, {"type": "text", "text": _REPLY}]}
    return not prints([ask, key], _THOUGHT, prompt=False) and prints(
        [ask, part], _THOUGHT, _REPLY, prompt=False
    )
