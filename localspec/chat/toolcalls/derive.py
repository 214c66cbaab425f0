"""The layout of calls, read from a template: known calls are rendered, and what stands around their parts
is compared.

Templates that print no earlier calls leave nothing to compare; the few ways in which such models were
trained to call are told apart by their markers (`_KNOWN`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from localspec.chat.toolcalls.layout import CallLayout

_NAME, _NAME_2 = "qzfirst", "qzsecond"
_KEY, _KEY_2, _NUMBER = "qzkeya", "qzkeyb", 7340219
_VALUE, _VALUE_2 = "qzvala", "qzvalb"
_IDS = ("qzcallaa1", "qzcallaa2")
_SAY = "qzsaying"
_ID = "{id}"

_TOKEN = re.compile(r"<[^<>\s]{1,60}>|\[[A-Z_/]{2,40}\]|\s+|.", re.DOTALL)
"""A tag, a run of white space or a character: markers are never cut inside of one."""

Written = Callable[[str, Sequence[Mapping[str, object]]], str]
"""Renders a conversation whose assistant said a text and made calls; empty where the template refuses."""

DEFAULT_LAYOUT = CallLayout("json", before_name="<tool_call>\n", after_arguments="\n</tool_call>")
_IN_BRACKETS = CallLayout("python", opening="<|tool_call_start|>[", closing="]<|tool_call_end|>")
_KNOWN = (
    ("<|tool_list_start|>", _IN_BRACKETS),
    ("List of tools: [", _IN_BRACKETS),
    (
        "<｜tool▁calls▁begin｜>",
        CallLayout(
            "named-json",
            opening="<｜tool▁calls▁begin｜>",
            closing="<｜tool▁calls▁end｜>",
            before_name="<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            after_name="\n```json\n",
            after_arguments="\n```<｜tool▁call▁end｜>",
        ),
    ),
    ("<|tool_call|>", CallLayout("json", opening="<|tool_call|>[", closing="]")),
    ("functools[", CallLayout("json", opening="functools[", closing="]")),
)


def derive_layout(written: Written, source: str, thought_end: str = "") -> CallLayout:
    """How calls are written by a model whose template is this one.

    Args:
        written: see `Written`.
        source: the template.
        thought_end: what ends a thought; a thought before a call is none of the call.
    """
    found = _from_calls(written, thought_end)
    if found is not None:
        return found
    return next((layout for marker, layout in _KNOWN if marker in source), DEFAULT_LAYOUT)


def probe_call(name: str, arguments: Mapping[str, object], call_id: str) -> dict[str, object]:
    """A call in OpenAI's shape."""
    function = {"name": name, "arguments": dict(arguments)}
    return {"type": "function", "id": call_id, "function": function}


def probe_tool() -> dict[str, object]:
    """The tool of the probe's calls: some templates print none of a tool that they were not told of."""
    text = {"type": "string", "description": "A word."}
    schema = {"type": "object", "properties": {_KEY: text, _KEY_2: text}}
    function = {"name": _NAME, "description": "A tool.", "parameters": schema}
    return {"type": "function", "function": function}


def _from_calls(written: Written, thought_end: str) -> CallLayout | None:
    texts = {_KEY: _VALUE, _KEY_2: _VALUE_2}
    first, second = probe_call(_NAME, texts, _IDS[0]), probe_call(_NAME_2, texts, _IDS[1])
    said, one, two = written(_SAY, []), written("", [first]), written("", [first, second])
    # where a template takes one call only, nothing can be told apart
    text = two if _NAME_2 in two else one
    if _NAME not in text or _KEY not in text:
        return None
    start = len(common_prefix(said, text))
    text = text[start:]
    text = text[: len(text) - len(_common_suffix(text, said.partition(_SAY)[2]))]
    if thought_end:
        text = text.rpartition(thought_end)[2]
    if _NAME not in text:
        return None
    arguments = _json_at(text)
    if arguments is None:
        number = written("", [probe_call(_NAME, {_KEY: _NUMBER}, _IDS[0])])
        return _tagged(text, number)
    return _with_json(text, arguments)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


def _json_at(text: str, start: int = 0) -> _Span | None:
    """Where the next JSON object with the probe's arguments stands."""
    for found in re.finditer(r"\{", text[start:]):
        value, end = _decoded(text, start + found.start())
        if isinstance(value, dict) and value.get(_KEY) == _VALUE:
            return _Span(start + found.start(), end)
    return None


def _decoded(text: str, start: int) -> tuple[object, int]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start


def _with_json(text: str, arguments: _Span) -> CallLayout:
    outer = _object_with(text, _NAME, arguments)
    if outer is not None:
        span, value = outer
        again = _json_at(text, span.end)
        second = _object_with(text, _NAME_2, again, span.end) if again else None
        opening, before_name, after_arguments, closing = _around(
            text, span, second[0] if second else None
        )
        return CallLayout(
            "json",
            opening,
            closing,
            before_name,
            after_arguments=after_arguments,
            name_key=_path(value, _NAME) or "name",
            arguments_key=_path(value, {_KEY: _VALUE, _KEY_2: _VALUE_2}) or "arguments",
            id_key=_path(value, _IDS[0]) or next((key for key in value if "id" in key), ""),
        )
    name = text.find(_NAME)
    after_name = text[name + len(_NAME) : arguments.start]
    before_id, found, rest = after_name.partition(_IDS[0])
    # some write a number after the name, which counts the calls
    after_name = re.sub(r"^:\d+", "", rest if found else after_name)
    name_2, again = text.find(_NAME_2), _json_at(text, arguments.end)
    second_call = _Span(name_2, again.end) if again and name_2 > arguments.end else None
    opening, before_name, after_arguments, closing = _around(
        text, _Span(name, arguments.end), second_call
    )
    before_name, _, after_id = before_name.partition(_ID)
    return CallLayout(
        "named-json",
        opening,
        closing,
        before_name,
        after_name,
        after_arguments,
        before_id=before_id if found else "",
        after_id=after_id,
    )


def _object_with(
    text: str, name: str, arguments: _Span, start: int = 0
) -> tuple[_Span, dict[str, object]] | None:
    """The outermost JSON object that holds a call's name as a value, and its arguments."""
    for found in re.finditer(r"\{", text[start : arguments.start]):
        value, end = _decoded(text, start + found.start())
        if isinstance(value, dict) and end >= arguments.end and _path(value, name):
            return _Span(start + found.start(), end), value
    return None


def _path(value: object, wanted: object, before: str = "") -> str | None:
    """The keys that lead to a value, joined by dots."""
    if not isinstance(value, dict):
        return None
    for key, inner in value.items():
        if inner == wanted:
            return before + str(key)
        if found := _path(inner, wanted, f"{before}{key}."):
            return found
    return None


def _around(text: str, first: _Span, second: _Span | None) -> tuple[str, str, str, str]:
    """What is around all calls and around each: opening, before a call, after a call, closing.

    Args:
        text: the calls as they were rendered.
        first: the first call, from its name or object on.
        second: the second one; None if there is none, and nothing can be told apart.
    """
    before = text[: first.start].replace(_IDS[0], _ID)
    if second is None:
        return "", before, text[first.end :], ""
    between = text[first.end : second.start].replace(_IDS[1], _ID)
    repeated = _common_suffix(before, between)
    after_call = between[: len(between) - len(repeated)].rstrip(", \n")
    rest = text[second.end :]
    mark = after_call.strip(", \n")
    closing = rest.partition(mark)[2] if mark else rest
    return before[: len(before) - len(repeated)], repeated, after_call, closing


def _tagged(text: str, number: str) -> CallLayout | None:
    """Name, keys and values stand apart."""
    parts = re.search(
        rf"{_NAME}(?P<open>.*?){_KEY}(?P<between>.*?){_VALUE}(?P<next>.*?){_KEY_2}.*?{_VALUE_2}"
        rf"(?P<end>.*?)(?:{_NAME_2}|$)",
        text,
        re.DOTALL,
    )
    if parts is None:
        return None
    between, opened, following = parts["between"], parts["open"], parts["next"]
    if opened.strip() in ("(", "{"):
        shape = "python" if opened.strip() == "(" else "quoted"
        closer = {"python": ")", "quoted": "}"}[shape]
        quote = re.sub(r"^\s*[:=]\s*", "", between)
        opening, before_name, after_arguments, closing = _around(
            text, *_ends(text, parts.start(), closer)
        )
        return CallLayout(
            "python" if shape == "python" else "quoted",
            opening,
            closing,
            before_name,
            after_arguments=after_arguments,
            quote=quote,
        )
    before_key = _common_suffix(opened, following)
    after_value = following[: len(following) - len(before_key)].replace(_KEY, "{key}")
    other = number.rpartition(str(_NUMBER))[0].rpartition(_KEY)[2]
    # after the last value there may be less white space
    closer = after_value.replace("{key}", _KEY_2).rstrip()
    opening, before_name, after_arguments, closing = _around(
        text, *_ends(text, parts.start(), closer)
    )
    return CallLayout(
        "tagged",
        opening,
        closing,
        before_name,
        opened[: len(opened) - len(before_key)],
        after_arguments,
        before_key=before_key,
        between=between,
        between_other=other or between,
        after_value=after_value,
    )


def _ends(text: str, start: int, closer: str) -> tuple[_Span, _Span | None]:
    """Both calls, each from its name to what ends its arguments; the second may be missing."""

    def end_of(position: int) -> int:
        value = text.find(_VALUE_2, position) + len(_VALUE_2)
        found = text.find(closer, value)
        return found + len(closer) if found >= 0 else value

    first = _Span(start, end_of(start))
    second = text.find(_NAME_2, first.end)
    return first, _Span(second, end_of(second)) if second >= 0 else None


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def common_prefix(first: str, second: str) -> str:
    """With what both begin; tags are not cut."""
    return "".join(_alike(_tokens(first), _tokens(second)))


def _common_suffix(first: str, second: str) -> str:
    return "".join(_alike(_tokens(first)[::-1], _tokens(second)[::-1])[::-1])


def _alike(first: list[str], second: list[str]) -> list[str]:
    pairs = zip(first, second, strict=False)
    return [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
