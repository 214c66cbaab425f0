"""Calls written as Python does: `name(key="value", other=3)`."""

import ast
import json
import re

from localspec.chat.toolcalls.layout import CallLayout
from localspec.chat.toolcalls.reading import MORE, Reading, Types, broken
from localspec.messages import ToolCall

_NAME = re.compile(r"[\s,]*(?P<name>[\w.-]+)\s*")
_WORDS = {"true": True, "false": False, "null": None}
_STRING = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def read_python(text: str, layout: CallLayout, tools: Types) -> Reading:
    """A call from its name on.

    Args:
        text: the reply from the name on.
        layout: of shape "python".
        tools: not used: values tell their type.
    """
    found = _NAME.match(text)
    if found is None:
        return MORE if not text.strip(" \n,") else broken("no name follows")
    if found.end() == len(text):
        return MORE
    if text[found.end()] != "(":
        return broken("no arguments follow its name")
    end = _end(text, found.end())
    if end is None:
        return Reading("more", ToolCall(found["name"], ""))
    try:
        arguments = _arguments(text[found.end() : end])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return broken("its arguments cannot be read")
    return Reading("done", ToolCall(found["name"], json.dumps(arguments, ensure_ascii=False)), end)


def _end(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; None if it is not yet."""
    depth, i = 0, start
    while i < len(text):
        if text[i] in "'\"":
            string = _STRING.match(text, i)
            if string is None:
                return None
            i = string.end()
            continue
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        i += 1
        if depth == 0:
            return i
    return None


def _arguments(text: str) -> dict[str, object]:
    """The arguments in brackets; JSON's words are as good as Python's.

    Raises:
        SyntaxError, ValueError: they are no constants.
    """
    # a line break in a string is none of Python's, and is meant all the same
    text = _STRING.sub(_on_one_line, text)
    tree = ast.parse(f"f{text}", mode="eval").body
    if not isinstance(tree, ast.Call) or tree.args:
        raise ValueError("arguments without names")
    return {str(one.arg): _value(one.value) for one in tree.keywords}


def _on_one_line(string: re.Match[str]) -> str:
    written = string[0]
    return written if written[:3] in ("'''", '"""') else written.replace("\n", "\\n")


def _value(node: ast.expr) -> object:
    match node:
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [_value(key) for key in keys if key is not None]
            return {str(n): _value(v) for n, v in zip(names, values, strict=True)}
        case _:
            return ast.literal_eval(node)
