"""Calls whose arguments are an object with bare keys, and strings between markers for quotes (Gemma 4)."""

import json
import re

from localspec.chat.toolcalls.layout import CallLayout
from localspec.chat.toolcalls.reading import MORE, Reading, Types, broken
from localspec.chat.toolcalls.values import fitting
from localspec.messages import ToolCall

_NAME = re.compile(r"\s*(?P<name>[^\s<>{}\"']+)\s*")
_BARE = re.compile(r"[^\s{}\[\]:,\"]+")
_JSON_WORDS = frozenset(("true", "false", "null"))


def read_quoted(text: str, layout: CallLayout, tools: Types) -> Reading:
    """A call from its name on.

    Args:
        text: the reply from the name on.
        layout: of shape "quoted".
        tools: schemas of arguments, for values that do not tell their type.
    """
    found = _NAME.match(text)
    if found is None:
        return MORE if not text.strip() else broken("no name follows")
    if found.end() == len(text):
        return MORE
    if text[found.end()] != "{":
        return broken("no arguments follow its name")
    name = found["name"]
    written, end = _as_json(text, found.end(), layout.quote)
    if end is None:
        return Reading("more", ToolCall(name, ""))
    try:
        value = json.loads(written, strict=False)
    except (ValueError, RecursionError):
        return broken("its arguments cannot be read")
    schemas = tools.get(name, {})
    if isinstance(value, dict):
        value = {key: fitting(one, schemas.get(key)) for key, one in value.items()}
    return Reading("done", ToolCall(name, json.dumps(value, ensure_ascii=False)), end)


def _as_json(text: str, start: int, quote: str) -> tuple[str, int | None]:
    """The object as JSON, and where the text goes on; None where it is not finished."""
    made: list[str] = []
    depth, i = 0, start
    while i < len(text):
        if text.startswith(quote, i) or text[i] == '"':
            mark = quote if text.startswith(quote, i) else '"'
            end = _closing(text, i + len(mark), mark)
            if end < 0:
                return "", None
            inner = text[i + len(mark) : end]
            made.append(f'"{inner}"' if mark == '"' else json.dumps(inner, ensure_ascii=False))
            i = end + len(mark)
            continue
        if text[i] in "{}[]":
            depth += 1 if text[i] in "{[" else -1
            made.append(text[i])
            i += 1
            if depth == 0:
                return "".join(made), i
            continue
        bare = _BARE.match(text, i)
        if bare is None:
            made.append(text[i])
            i += 1
            continue
        made.append(_word(bare[0], text[bare.end() :]))
        i = bare.end()
    return "", None


def _closing(text: str, start: int, mark: str) -> int:
    """Where a string ends; -1 if it does not yet."""
    if mark != '"':
        return text.find(mark, start)
    found = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL).match(text, start)
    return found.end() - 1 if found else -1


def _word(word: str, rest: str) -> str:
    """A bare word: a key, a number, a name of JSON, else text."""
    if rest.lstrip().startswith(":"):
        return json.dumps(word)
    if word in _JSON_WORDS:
        return word
    try:
        json.loads(word)
    except ValueError:
        return {"True": "true", "False": "false", "None": "null"}.get(word, json.dumps(word))
    return word
