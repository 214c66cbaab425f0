"""The functions of a Python file as tools."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from localspec.errors import UnsupportedFileError
from localspec.messages import ToolSpec
from localspec.tools.base import Tool
from localspec.tools.importing import import_file
from localspec.tools.results import as_text
from localspec.tools.running import run_for
from localspec.tools.schemas import Signature, UnusableFunctionError, signature_of

_EXAMPLE = (
    "Write one with types and a docstring: "
    'def weather(city: str) -> str: """The weather in a city now."""'
)
# So that a coroutine is still there to be cancelled when the caller has given up.
_GRACE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that the user wrote. See `Tool`."""

    signature: Signature
    origin: str
    function: Callable[..., object]

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it."""
        return self.signature.spec

    def call(self, arguments: dict[str, object], seconds: float) -> str:
        """Run it in a thread of its own. See `Tool.call`."""

        def work() -> str:
            result = self.function(**self.signature.keywords(arguments))
            return as_text(_settled(result, seconds))

        return run_for(work, seconds)


def load_functions(path: Path) -> list[Tool]:
    """The public functions that a file defines, in its order; those of `__all__` if it has one.

    Args:
        path: a Python file. It is run, with its folder in reach of its imports.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedFileError: it is no Python, fails when it is run, has no function, or has one
            that no model could call.
        LocalspecError: it cannot be read.
    """
    functions = _public(import_file(path), path)
    if not functions:
        raise UnsupportedFileError(f"{path} defines no public function.", _EXAMPLE)
    tools: list[Tool] = []
    for name, function in functions.items():
        try:
            signature = signature_of(name, function)
        except UnusableFunctionError as error:
            raise UnsupportedFileError(
                f"The function {name} in {path} {error.words}.", error.hint
            ) from error
        tools.append(FunctionTool(signature, path.name, function))
    return tools


def _public(module: ModuleType, path: Path) -> dict[str, Callable[..., object]]:
    names = getattr(module, "__all__", None)
    if names is not None:
        return {str(name): _named(module, str(name), path) for name in names}
    found: dict[str, Callable[..., object]] = {}
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__ and _is_function(value)
        # a second name for the same function would be a second tool
        if is_own and not name.startswith("_") and value not in found.values():
            found[name] = value
    return found


def _named(module: ModuleType, name: str, path: Path) -> Callable[..., object]:
    value: object = getattr(module, name, None)
    if not callable(value) or not _is_function(value):
        raise UnsupportedFileError(
            f"{path} names {name} in __all__, which is no function of it.",
            "Name only functions in __all__, or leave it out.",
        )
    return value


def _is_function(value: object) -> bool:
    """True for what `def` made, also where a decorator such as `functools.cache` wraps it."""
    if not callable(value) or inspect.isclass(value):
        return False
    try:
        wrapped: object = inspect.unwrap(value)
    except ValueError:
        return False
    return inspect.isfunction(wrapped) and wrapped.__name__ != "<lambda>"


def _settled(result: object, seconds: float) -> object:
    """What comes of it in the end: of a coroutine its result, of a generator all that it yields."""
    if inspect.isasyncgen(result):
        result = _all_of(result)
    if inspect.isawaitable(result):
        waiting = asyncio.wait_for(_result_of(result), seconds + _GRACE_SECONDS)
        result = asyncio.run(waiting)
    return list(result) if isinstance(result, Iterator) else result


async def _all_of(values: AsyncIterator[object]) -> list[object]:
    return [value async for value in values]


async def _result_of(awaitable: Awaitable[object]) -> object:
    return await awaitable
