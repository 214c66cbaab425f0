"""The line to an MCP server, and what is noticed on it: HTTP's refusals, and what is no MCP at all.

Lists of tools are put right on the way, since the SDK refuses a whole list for one bad schema.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCResponse
from pydantic import ValidationError

from localspec.tools.servers import ServerSpec
from localspec.tools.stderr_tail import StderrTail

_ALSO_INHERITED = ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
_CONNECT_SECONDS = 30.0
_MOST_CHARACTERS = 80


@dataclass(slots=True)
class Notes:
    """What happened on the line.

    Attributes:
        stderr: of a server that we started.
        refusal: HTTP status of the last answer to a message if it was an error, else 0.
        garbage: the first thing the server printed that is no message, cut where it is long.
    """

    stderr: StderrTail | None = None
    refusal: int = field(default=0)
    garbage: str = ""


@asynccontextmanager
async def open_line(spec: ServerSpec, notes: Notes) -> AsyncIterator[Any]:
    """Start or reach the server; gives streams as the SDK's `Client` takes them.

    Raises:
        OSError: the command cannot be started.
        ExceptionGroup: of what became of the connection.
    """
    if spec.url:
        async with _by_http(spec, notes) as (read, write):
            yield _Mended(read, notes), write
        return
    notes.stderr = StderrTail()
    try:
        async with stdio_client(_parameters(spec), errlog=notes.stderr.sink) as (read, write):
            notes.stderr.release()
            yield _Mended(read, notes), write
    finally:
        notes.stderr.release()


def _parameters(spec: ServerSpec) -> StdioServerParameters:
    inherited = {name: os.environ[name] for name in _ALSO_INHERITED if name in os.environ}
    return StdioServerParameters(
        command=spec.command,
        args=list(spec.args),
        env={**inherited, **spec.env},
        cwd=spec.cwd,
        # a byte that is no UTF-8 must cost its line and not the connection
        encoding_error_handler="replace",
    )


@asynccontextmanager
async def _by_http(spec: ServerSpec, notes: Notes) -> AsyncIterator[Any]:
    async def note(response: httpx2.Response) -> None:
        # not of a GET, which a server may refuse and still serve
        if response.request.method == "POST":
            notes.refusal = response.status_code if response.status_code >= 400 else 0

    # no bound on reading: each call has its own
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(spec.headers), timeout=timeout, event_hooks={"response": [note]}
        ) as client,
        streamable_http_client(spec.url, http_client=client) as streams,
    ):
        yield streams


class _Mended:
    """What is read from a server, with its lists of tools put right."""

    def __init__(self, inner: Any, notes: Notes) -> None:  # noqa: ANN401 - a stream of the SDK
        self._inner = inner
        self._notes = notes

    @property
    def last_context(self) -> object:
        """What the SDK looks for on some of its streams."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> object:
        """The next message, or what could not be read as one."""
        return self._seen(await self._inner.receive())

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    def __aiter__(self) -> "_Mended":
        return self

    async def __anext__(self) -> object:
        return self._seen(await self._inner.__anext__())

    async def __aenter__(self) -> "_Mended":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        await self._inner.__aexit__(*error)
        return None

    def _seen(self, item: Any) -> object:  # noqa: ANN401 - any message of the SDK
        if isinstance(item, Exception):
            self._notes.garbage = self._notes.garbage or _line_of(item)
            return item
        message = item.message
        if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            tools = message.result["tools"]
            message.result["tools"] = [_mended(tool) for tool in tools if _is_tool(tool)]
        return item


def _line_of(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)[:_MOST_CHARACTERS]
    line = str(error.errors(include_url=False)[0]["input"]).strip()
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def _is_tool(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _mended(tool: dict[str, Any]) -> dict[str, object]:
    """What is needed of a tool. No schema of its results: we take them as they come."""
    words = next((tool[k] for k in ("description", "title") if isinstance(tool.get(k), str)), "")
    return {"name": tool["name"], "description": words, "inputSchema": _schema(tool)}


def _schema(tool: dict[str, Any]) -> dict[str, object]:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return {"type": "object", "properties": {}}
    schema = {**schema, "type": "object"}
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    required = schema.get("required")
    if required is not None and not _is_list_of_texts(required):
        del schema["required"]
    return schema


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) for x in value)
