"""The box of tools: names, duplicates and what was meant."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from localspec.errors import UsageError
from localspec.messages import ToolSpec
from localspec.tools.base import Tool, Toolbox, ToolTimeoutError


@dataclass
class Echo:
    """A tool that gives what a test wants."""

    name: str = "echo"
    origin: str = "a.py"
    answer: Callable[[dict[str, object]], str] = str

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"{self.name}!", {"type": "object"})

    def call(self, arguments: dict[str, object], seconds: float) -> str:
        return self.answer(arguments)


def test_tools_keep_their_order_and_are_found() -> None:
    weather: Tool = Echo("weather")
    box = Toolbox([weather, Echo("add")])
    assert box.names == ("weather", "add")
    assert [spec.description for spec in box.specs] == ["weather!", "add!"]
    assert box.find("weather") is weather
    assert box.find("Weather") is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("wether", "get_weather"), ("GET_WEATHER", "get_weather"), ("add2", "add"), ("xyz", None)],
)
def test_the_closest_name(typed: str, meant: str | None) -> None:
    assert Toolbox([Echo("add"), Echo("get_weather")]).closest(typed) == meant


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.py and MCP server b both have a tool named x") as two:
        Toolbox([Echo("x"), Echo("x", "MCP server b")])
    assert two.value.hint
    with pytest.raises(UsageError, match=r"^a\.py has two tools named x\.$"):
        Toolbox([Echo("x"), Echo("x")])


@pytest.mark.parametrize("name", ["", "1st", "-x", "a b", "a/b", "ä", "x\n", "x" * 65])
def test_names_that_no_model_could_call(name: str) -> None:
    with pytest.raises(UsageError, match="No model could call"):
        Toolbox([Echo(name)])


@pytest.mark.parametrize("name", ["_x", "a.b-c_1", "X" * 64])
def test_names_of_every_sound_kind(name: str) -> None:
    assert Toolbox([Echo(name)]).names == (name,)


def test_a_timeout_says_how_long_was_waited() -> None:
    assert ToolTimeoutError(2.5).message == "no result within 2.5 seconds"


def test_nothing_heavy_comes_with_the_light_modules() -> None:
    code = (
        "import sys, localspec.tools.base, localspec.tools.calling, localspec.tools.approval, "
        "localspec.tools.servers\n"
        "print(sorted({'mcp', 'anyio', 'httpx2', 'docstring_parser'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
