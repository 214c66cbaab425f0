"""Functions of a file as tools: what the model is told of them, and what calling them gives."""

import sys
import threading
import time
from pathlib import Path

import pytest

from localspec.tools.base import Tool, ToolFailedError, ToolTimeoutError
from localspec.tools.functions import load_functions

_HEAD = """
import asyncio, dataclasses, enum, functools, sys, time
from typing import Annotated, Literal
from pydantic import BaseModel, Field
"""


@pytest.fixture
def load(tmp_path: Path):
    """`load(source)`: the tools of a file with this text, by name."""

    def tools(source: str) -> dict[str, Tool]:
        path = tmp_path / "functions.py"
        path.write_text(_HEAD + source, encoding="utf-8")
        return {tool.spec.name: tool for tool in load_functions(path)}

    return tools


def test_a_schema_from_hints(load) -> None:
    tool = load('def weather(city: str, days: int = 3) -> str:\n    """The weather."""')["weather"]
    assert tool.origin == "functions.py"
    assert tool.spec.description == "The weather."
    assert tool.spec.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


_GOOGLE = """
    Args:
        city: Where it is,
            in German.
        days (int): How many.
"""
_NUMPY = """
    Parameters
    ----------
    city : str
        Where it is, in German.
    days : int, optional
        How many.
"""
_REST = """
    :param city: Where it is, in German.
    :param int days: How many.
"""


@pytest.mark.parametrize("arguments", [_GOOGLE, _NUMPY, _REST])
def test_descriptions_from_docstrings(load, arguments: str) -> None:
    doc = f'"""The weather.\n\n    In more words.\n{arguments}    """'
    spec = load(f"def weather(city: str, days: int = 3):\n    {doc}")["weather"].spec
    assert spec.description == "The weather.\n\nIn more words."
    properties = spec.parameters["properties"]
    assert properties["city"]["description"] == "Where it is, in German."
    assert properties["days"]["description"] == "How many."


def test_a_field_says_it_better_than_the_docstring(load) -> None:
    source = (
        'def f(n: Annotated[int, Field(description="from 1", ge=1)], m: Annotated[int, "x"] = 1):\n'
        '    """F.\n\n    Args:\n        n: wrong\n        m: right\n    """\n    return n'
    )
    f = load(source)["f"]
    properties = f.spec.parameters["properties"]
    assert properties["n"] == {"type": "integer", "description": "from 1", "minimum": 1}
    assert properties["m"]["description"] == "right"
    with pytest.raises(ToolFailedError, match="n: input should be greater than or equal to 1"):
        f.call({"n": 0}, 5)


def test_types_that_refer_to_others(load) -> None:
    tools = load(
        "class Node(BaseModel):\n    name: str\n    children: list['Node'] = []\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int\n"
        "class Colour(enum.Enum):\n    RED = 'red'\n"
        "def count(tree: Node, at: Point, colour: Colour, how: Literal['a', 'b'] = 'a') -> str:\n"
        "    return f'{len(tree.children)} {at.x} {colour.name} {how}'"
    )
    schema = tools["count"].spec.parameters
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Node"}
    assert set(schema["$defs"]) == {"Node", "Point", "Colour"}
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    arguments = {
        "tree": {"name": "a", "children": [{"name": "b"}]},
        "at": {"x": "3"},
        "colour": "red",
    }
    assert tools["count"].call(arguments, 5) == "1 3 RED a"


def test_names_that_models_of_pydantic_use_themselves(load) -> None:
    source = (
        "def f(json: int, _x: int, model_config: str = 'm', copy: int = None):\n    return locals()"
    )
    f = load(source)["f"]
    assert list(f.spec.parameters["properties"]) == ["json", "_x", "model_config", "copy"]
    given = {"json": 1, "_x": 2, "copy": None}
    assert f.call(given, 5) == '{"json":1,"_x":2,"model_config":"m","copy":null}'


def test_defaults_stay_what_they_are(load) -> None:
    f = load("UNSET = object()\ndef f(x: str = UNSET):\n    return x is UNSET")["f"]
    assert f.spec.parameters["properties"] == {"x": {"type": "string"}}
    assert f.call({}, 5) == "true"


def test_hints_as_text(tmp_path: Path) -> None:
    path = tmp_path / "later.py"
    path.write_text(
        "from __future__ import annotations\n"
        "def f(x: list[Number]):\n    return sum(x)\n"
        "Number = int\n",
        encoding="utf-8",
    )
    assert load_functions(path)[0].call({"x": [1, "2"]}, 5) == "3"


def test_what_of_a_file_becomes_a_tool(load) -> None:
    tools = load(
        "from json import dumps\n"
        "def second(): ...\n"
        "def _private(): ...\n"
        "class Class: ...\n"
        "short = lambda: 1\n"
        "alias = second\n"
        "@functools.cache\ndef first(n: int):\n    return n\n"
    )
    assert list(tools) == ["second", "first"]
    assert tools["first"].call({"n": 3}, 5) == "3"


def test_all_says_what_becomes_a_tool(load) -> None:
    source = "from os.path import basename\n__all__ = ['_a', 'joined']\n"
    tools = load(source + "def _a(): ...\ndef b(): ...\ndef joined(p: str): return p * 2")
    assert list(tools) == ["_a", "joined"]


def test_arguments_are_converted_and_checked(load) -> None:
    f = load("def f(n: int, on: bool = False, text: str = ''):\n    return [n, on, text]")["f"]
    assert f.call({"n": "3", "on": "yes", "text": 5}, 5) == '[3,true,"5"]'
    with pytest.raises(ToolFailedError) as caught:
        f.call({"on": 7, "more": 1}, 5)
    assert caught.value.message == (
        "wrong arguments: n: is missing; on: input should be a valid boolean, unable to interpret "
        "input; more: is not an argument of this function"
    )


def test_many_faults_are_not_all_told(load) -> None:
    with pytest.raises(ToolFailedError, match="and 15 more"):
        load("def f(x: list[int]): ...")["f"].call({"x": ["a"] * 20}, 5)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("async def f():\n    await asyncio.sleep(0.01)\n    return {'a': 1}", '{"a":1}'),
        ("def f():\n    yield from 'ab'", '["a","b"]'),
        ("async def f():\n    yield 1\n    yield 2", "[1,2]"),
        ("def f(): ...", "null"),
    ],
)
def test_results_of_every_kind_of_function(load, body: str, result: str) -> None:
    assert load(body)["f"].call({}, 5) == result


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such city')", "^ValueError: no such city$"),
        ("raise KeyError", "^KeyError$"),
        ("sys.exit(2)", r"ended itself with sys.exit\(2\)"),
        ("raise KeyboardInterrupt", "^KeyboardInterrupt$"),
        ("f()", "^RecursionError: "),
        ("from localspec.tools.base import ToolFailedError as E; raise E('mine')", "^mine$"),
    ],
)
def test_what_a_function_raises_is_a_failure(load, body: str, words: str) -> None:
    with pytest.raises(ToolFailedError, match=words):
        load(f"def f():\n    {body}")["f"].call({}, 5)


@pytest.mark.parametrize(
    "body", ["def f():\n    time.sleep(1)", "async def f():\n    await asyncio.sleep(1)"]
)
def test_what_takes_too_long_is_left(load, body: str) -> None:
    f = load(body)["f"]
    before = set(threading.enumerate())
    start = time.monotonic()
    with pytest.raises(ToolTimeoutError):
        f.call({}, 0.1)
    assert time.monotonic() - start < 0.8
    left = set(threading.enumerate()) - before
    assert all(thread.daemon for thread in left)
    for thread in left:
        thread.join()


def test_what_is_printed_goes_to_standard_error(load, capsys: pytest.CaptureFixture[str]) -> None:
    f = load("print('at import')\ndef f():\n    print('in the call')\n    sys.stdout.flush()")["f"]
    usual = sys.stdout
    f.call({}, 5)
    print("ours")
    assert sys.stdout is usual
    assert capsys.readouterr() == ("ours\n", "at import\nin the call\n")


def test_a_function_that_was_left_does_not_take_our_output(
    load, capsys: pytest.CaptureFixture[str]
) -> None:
    f = load("def f():\n    time.sleep(0.4)\n    print('late')")["f"]
    usual = sys.stdout
    with pytest.raises(ToolTimeoutError):
        f.call({}, 0.1)
    print("ours")
    for thread in threading.enumerate():
        if thread.name == "localspec-tool":
            thread.join()
    assert sys.stdout is usual
    assert capsys.readouterr() == ("ours\n", "late\n")
