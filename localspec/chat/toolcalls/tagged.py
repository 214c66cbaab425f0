"""Calls whose arguments stand in tags of their own; what a value means is told by the tool's schema."""

import json
import re

from localspec.chat.toolcalls.layout import CallLayout
from localspec.chat.toolcalls.reading import MORE, Reading, Types, after_marker, broken, loose
from localspec.chat.toolcalls.values import meant, wants_text
from localspec.messages import ToolCall

_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_NAME = re.compile(r"\s*(?P<name>[^\s<>\"']+)")


def read_tagged(text: str, layout: CallLayout, tools: Types) -> Reading:
    """A call from its name on.

    Args:
        text: the reply from the name on.
        layout: of shape "tagged".
        tools: schemas of arguments.
    """
    found = _NAME.match(text)
    if found is None:
        return MORE if not text.strip() else broken("no name follows")
    if found.end() == len(text):
        return MORE
    name, position = found["name"], found.end()
    after = after_marker(text, layout.after_name, position)
    if after is None:
        return broken("the tag of its name is not closed")
    if after == -1:
        return MORE
    position = after
    arguments: dict[str, object] = {}
    while True:
        # a model that forgets what encloses a call has ended it all the same
        end = after_marker(text, (layout.after_arguments.split() or [""])[0], position)
        if end is not None and end != -1:
            return Reading("done", ToolCall(name, json.dumps(arguments, ensure_ascii=False)), end)
        start = after_marker(text, layout.before_key, position)
        if start is None or start == -1:
            if end == -1 or start == -1:
                return Reading("more", ToolCall(name, ""))
            return broken("text stands between its arguments")
        one = _argument(text, start, layout, tools.get(name, {}))
        if one is None:
            return Reading("more", ToolCall(name, ""))
        key, value, position = one
        arguments[key] = value


def _argument(
    text: str, start: int, layout: CallLayout, schemas: object
) -> tuple[str, object, int] | None:
    """Key, value and where the text goes on; None if that is not certain yet."""
    plain, other = layout.between, layout.between_other
    found = re.compile(
        rf"\s*(?P<key>[^<>\"'\n]+?)(?:(?P<text>{_exact(plain)})|(?P<other>{_exact(other)}))"
    ).match(text, start)
    if found is None:
        return None
    key, begin = found["key"].strip(), found.end()
    closing = layout.after_value.replace("{key}", key)
    inner = text.find(_CDATA_END, begin) if text.startswith(_CDATA, begin) else begin
    opening = f"{layout.before_key}{key}{plain}".strip() if "{key}" in layout.after_value else ""
    end = _end(text, inner, closing, opening) if inner >= 0 else None
    if end is None:
        return None
    schema = schemas.get(key) if isinstance(schemas, dict) else None
    flagged = plain != other
    is_text = found["text"] is not None if flagged else wants_text(schema)
    written = text[begin : end.start()]
    if written.startswith(_CDATA) and written.endswith(_CDATA_END):
        written = written[len(_CDATA) : -len(_CDATA_END)]
    if "{key}" in layout.after_value:
        nested = _nested(written, layout, schema)
        if nested is not None and not is_text:
            return key, nested, end.end()
    return key, written if is_text else meant(written), end.end()


def _end(text: str, start: int, closing: str, opening: str) -> re.Match[str] | None:
    """The tag that closes a value; one inside that is opened again closes first."""
    ends = re.compile(_exact(closing)).finditer(text, start)
    for n_inside, end in enumerate(ends):
        if not opening or text.count(opening, start, end.start()) <= n_inside:
            return end
    return None


def _nested(written: str, layout: CallLayout, schema: object) -> object:
    """An object or a list that is written in tags of the same kind; None for what is none.

    Items of a list have one tag, which says so.
    """
    wanted = schema if isinstance(schema, dict) else {}
    kind, inner = wanted.get("type"), wanted.get("properties")
    schemas = {"item": wanted.get("items")} if kind == "array" else inner
    items: list[tuple[str, object]] = []
    position = 0
    while written[position:].strip():
        start = after_marker(written, layout.before_key, position)
        one = (
            _argument(written, start, layout, schemas) if start is not None and start >= 0 else None
        )
        if one is None:
            return None
        key, value, position = one
        items.append((key, value))
    if kind == "array" or (items and all(key == "item" for key, _ in items)):
        return [value for _, value in items]
    return dict(items) if items or kind == "object" else None


def _exact(marker: str) -> str:
    """A marker whose outer line breaks, which are not part of a value, may be missing."""
    inner = marker.strip()
    before = marker[: len(marker) - len(marker.lstrip())]
    after = marker[len(marker.rstrip()) :] if inner else ""
    optional = [rf"(?:{re.escape(space)})?" if space else "" for space in (before, after)]
    return optional[0] + loose(inner).pattern.removeprefix(r"\s*") + optional[1]
