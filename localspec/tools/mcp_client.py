"""The tools of an MCP server, from its start to its end, for code that is not asynchronous.

The SDK's client runs on an event loop in a thread of its own. One task there holds the connection
from first to last, as the SDK wants it; calls are tasks beside it.
"""

import logging
import math
import threading
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND, CallToolResult, Implementation
from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from localspec import __version__
from localspec.messages import ToolSpec
from localspec.tools.base import Tool, ToolFailedError, ToolTimeoutError
from localspec.tools.mcp_faults import NoAnswerError, last_words, start_fault
from localspec.tools.mcp_results import text_of
from localspec.tools.mcp_transport import Notes, open_line
from localspec.tools.servers import ServerSpec

_LEAVE_SECONDS = 3.0
# The SDK tells a server that we no longer wait, and gives that some seconds where the pipe is full.
_GRACE_SECONDS = 6.0
_MOST_PAGES = 100

for _name in ("mcp", "httpx2", "httpcore2"):
    # What they have to say is said in our words.
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of a server. See `Tool`."""

    server: "McpServer"
    spec: ToolSpec

    @property
    def origin(self) -> str:
        """The server, for the user."""
        return f"MCP server {self.server.spec.name}"

    def call(self, arguments: dict[str, object], seconds: float) -> str:
        """Ask the server. See `Tool.call`."""
        return self.server.call(self.spec.name, arguments, seconds)


class McpServer:
    """A server that is started or reached on entering, and ended or left on leaving.

    Leaving takes a server that does not end by itself the few seconds until it is killed; also
    after Ctrl-C, which waits for that.

    Args:
        spec: which one.
        seconds: how long it may take until its tools are known.

    Attributes:
        tools: what it offers; known once it is entered.

    Raises (on entering):
        NotFoundError: there is no such program or folder.
        LocalspecError: it ends at once, does not answer, refuses us, or speaks no MCP.
    """

    def __init__(self, spec: ServerSpec, seconds: float = 20.0) -> None:
        self.spec = spec
        self.tools: list[Tool] = []
        self._seconds = seconds
        self._notes = Notes()
        self._is_leaving = False
        self._portal_context: AbstractContextManager[BlockingPortal]
        self._portal: BlockingPortal
        self._holding: Future[object]
        self._client: Client
        self._scope: anyio.CancelScope | None = None
        self._leave: anyio.Event | None = None

    def __enter__(self) -> Self:
        self._portal_context = start_blocking_portal(name="localspec-mcp")
        self._portal = self._portal_context.__enter__()
        try:
            self._holding, listed = self._portal.start_task(self._hold)
            self.tools = [McpTool(self, _spec_of(tool)) for tool in listed]
        except Exception as error:
            self._close()
            raise start_fault(self.spec, self._notes, error, self._seconds) from error
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def call(self, name: str, arguments: dict[str, object], seconds: float) -> str:
        """Call one of the tools.

        Args:
            name: of the tool.
            arguments: not checked here; the server does that.
            seconds: how long it may take.

        Raises:
            ToolTimeoutError: no answer in time; other calls can still be made.
            ToolFailedError: the server says so, or is gone.
        """
        if self._is_leaving or self._holding.done():
            raise self._gone()
        try:
            future = self._portal.start_task_soon(self._ask, name, arguments, seconds)
        except RuntimeError:
            raise self._gone() from None
        try:
            return future.result(min(seconds + _GRACE_SECONDS, threading.TIMEOUT_MAX))
        except FutureTimeoutError:
            future.cancel()
            raise ToolTimeoutError(seconds) from None
        except CancelledError:
            raise self._gone() from None
        except BaseException:
            future.cancel()
            raise

    async def _hold(self, *, task_status: TaskStatus[list[ListedTool]]) -> None:
        """The connection, from the handshake until it is to be left."""
        with anyio.CancelScope(deadline=anyio.current_time() + self._seconds) as self._scope:
            if self._is_leaving:
                self._scope.cancel()
            client = Client(
                open_line(self.spec, self._notes),
                client_info=Implementation(name="localspec", version=__version__),
                cache=None,
            )
            async with client:
                listed = await _all_tools(client)
                self._client = client
                self._leave = anyio.Event()
                self._scope.deadline = math.inf
                task_status.started(listed)
                await self._leave.wait()
                # a server that does not say goodbye is not waited for
                self._scope.deadline = anyio.current_time() + _LEAVE_SECONDS
            return
        raise NoAnswerError

    async def _ask(self, name: str, arguments: dict[str, object], seconds: float) -> str:
        result: CallToolResult | None = None
        self._notes.refusal = 0
        try:
            with anyio.move_on_after(seconds):
                result = await self._client.call_tool(name, arguments)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._gone() from error
            status = f" (HTTP {self._notes.refusal})" if self._notes.refusal else ""
            raise ToolFailedError(f"{error.message}{status}") from error
        except ValidationError as error:
            raise ToolFailedError("the server's answer is no result as MCP has it") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise self._gone() from error
        except Exception as error:
            raise ToolFailedError(f"{type(error).__name__}: {error}") from error
        if result is None:
            raise ToolTimeoutError(seconds)
        return text_of(result)

    def _gone(self) -> ToolFailedError:
        if self._is_leaving:
            return ToolFailedError(f"the MCP server {self.spec.name} was closed")
        words = f"the MCP server {self.spec.name} is gone{last_words(self._notes)}"
        return ToolFailedError(words)

    def _close(self) -> None:
        """Leave the server, whatever else happens meanwhile."""
        done = threading.Event()
        threading.Thread(
            target=self._shut, args=(done,), daemon=True, name="localspec-mcp-close"
        ).start()
        interruption: BaseException | None = None
        # an event: a join that is interrupted takes the thread for ended (CPython 3.11)
        while not done.is_set():
            try:
                done.wait()
            except BaseException as error:
                # a second Ctrl-C would leave the server running
                interruption = error
        if interruption is not None:
            raise interruption

    def _shut(self, done: threading.Event) -> None:
        self._is_leaving = True
        try:
            with suppress(RuntimeError):
                self._portal.call(self._ask_to_leave)
            # waits for the task that holds the connection
            self._portal_context.__exit__(None, None, None)
            if self._notes.stderr is not None:
                self._notes.stderr.close()
        finally:
            done.set()

    def _ask_to_leave(self) -> None:
        if self._leave is not None:
            self._leave.set()
        elif self._scope is not None:
            self._scope.cancel()


async def _all_tools(client: Client) -> list[ListedTool]:
    """The tools of every page."""
    tools: list[ListedTool] = []
    cursor: str | None = None
    seen: set[str | None] = set()
    while cursor not in seen and len(seen) < _MOST_PAGES:
        seen.add(cursor)
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                break
            raise
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _spec_of(tool: ListedTool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description or "", tool.input_schema)
