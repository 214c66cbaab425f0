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

_TOKEN = re.compile(r"<[^<>\s]{1,60}>|\[[A-Z_/]{2,40}\]|\s+|.", re.DOTALL)
"""A tag, a run of white space or a character: markers are never cut inside of one."""

Written = Callable[[str, Sequence[Mapping[str, object]]], str]
"""Renders a conversation whose assistant said a text and made calls; empty where the template refuses."""

DEFAULT_LAYOUT = CallLayout("json", before_name="<tool_call>\n", after_arguments="\n</tool_call>")
_KNOWN = (
    (
        "<|tool_list_start|>",
        CallLayout("python", opening="<|tool_call_start|>[", closing="]<|tool_call_end|>"),
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
    name = text.find(_NAME)
    arguments = _json_at(text, name)
    if name < 0:
        return None
    if arguments is None:
        number = written("", [probe_call(_NAME, {_KEY: _NUMBER}, _IDS[0])])
        return _tagged(text, number)
    return _with_json(text, arguments)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


def _json_at(text: str, name: int) -> _Span | None:
    """Where the JSON arguments of the first call stand."""
    for found in re.finditer(r"\{", text):
        value, end = _decoded(text, found.start())
        if isinstance(value, dict) and value.get(_KEY) == _VALUE:
            return _Span(found.start(), end)
    return None


def _decoded(text: str, start: int) -> tuple[object, int]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start


def _with_json(text: str, arguments: _Span) -> CallLayout:
    name = text.find(_NAME)
    outer = _object_with_name(text, arguments)
    if outer is not None:
        span, value = outer
        before, after = text[: span.start], text[span.end :]
        opening, before_name, after_arguments, closing = _around(before, after, '{"')
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
    after_name = text[name + len(_NAME) : arguments.start]
    before_id = ""
    if _IDS[0] in after_name:
        before_id, _, after_name = after_name.partition(_IDS[0])
    opening, before_name, after_arguments, closing = _around(
        text[:name], text[arguments.end :], _NAME_2
    )
    return CallLayout(
        "named-json",
        opening,
        closing,
        before_name,
        # some write a number after the name, which counts the calls
        re.sub(r"^:\d+", "", after_name),
        after_arguments,
        before_id=before_id,
    )


def _object_with_name(text: str, arguments: _Span) -> tuple[_Span, dict[str, object]] | None:
    """The outermost JSON object that holds the first call's name and arguments."""
    for found in re.finditer(r"\{", text[: arguments.start]):
        value, end = _decoded(text, found.start())
        if isinstance(value, dict) and end >= arguments.end and _path(value, _NAME):
            return _Span(found.start(), end), value
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


def _around(before: str, after: str, next_call: str) -> tuple[str, str, str, str]:
    """What is around all calls and around each: opening, before a call, after a call, closing.

    Args:
        before: before the first call's name or object.
        after: after its arguments or object.
        next_call: with which the second call begins; it may be missing.
    """
    between, found, rest = after.partition(next_call)
    if not found:
        return "", before, after, ""
    repeated = _common_suffix(before, between)
    opening = before[: len(before) - len(repeated)]
    after_call = between[: len(between) - len(repeated)]
    end = _after_second(rest, after_call)
    return opening, repeated, after_call.rstrip(", \n"), end


def _after_second(rest: str, after_call: str) -> str:
    """What follows the second call, without that which follows each."""
    rest = rest.rpartition(_VALUE_2)[2]
    mark = after_call.strip(", \n")
    if mark:
        return rest.partition(mark)[2]
    return re.sub(rf"^[^\]<]*?({_IDS[1]}[^\]<]*)?(?=[\]<]|$)", "", rest)


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
    before = text[: parts.start()]
    between, opened, following = parts["between"], parts["open"], parts["next"]
    if opened.strip() in ("(", "{"):
        shape = "python" if opened.strip() == "(" else "quoted"
        closer = {"python": ")", "quoted": "}"}[shape]
        quote = re.sub(r"^\s*[:=]\s*", "", between)
        after = text[parts.end("end") - len(parts["end"]) :].partition(closer)[2]
        opening, before_name, after_arguments, closing = _around(before, after, _NAME_2)
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
    after = text[parts.start("end") :].partition(after_value.replace("{key}", _KEY_2).rstrip())[2]
    opening, before_name, after_arguments, closing = _around(before, after, _NAME_2)
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
