"""Why an MCP server is of no use, in one sentence and a hint."""

import shlex
from collections.abc import Iterator

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED

from localspec.errors import LocalspecError, NotFoundError
from localspec.tools.mcp_transport import Notes
from localspec.tools.servers import ServerSpec

_REFUSALS = {
    401: "asks for a login",
    403: "does not let us in",
    404: "has nothing at this address",
    405: "speaks no MCP at this address",
}


class NoAnswerError(Exception):
    """A server that was not ready in time."""


def start_fault(
    spec: ServerSpec, notes: Notes, error: BaseException, seconds: float
) -> LocalspecError:
    """What to tell the user of a server that could not be used.

    Args:
        spec: the server.
        notes: what was seen of it.
        error: what came of trying.
        seconds: how long it was waited for.
    """
    name = f"The MCP server {spec.name}"
    cause = next(_causes(error), error)
    if notes.refusal:
        return _refused(spec, name, notes.refusal)
    match cause:
        case NoAnswerError():
            return LocalspecError(
                f"{name} did not answer within {seconds:g} seconds{_seen(notes)}.", _by_hand(spec)
            )
        case httpx2.HTTPError() | httpx2.InvalidURL():
            reason = str(cause).removesuffix(".") or type(cause).__name__
            return LocalspecError(
                f"{name} cannot be reached at {spec.url}: {reason}.",
                "Start it, or check the address.",
            )
        case FileNotFoundError() | NotADirectoryError():
            if spec.cwd is not None and not spec.cwd.is_dir():
                return NotFoundError(f"{name} is to start in {spec.cwd}, which is no folder.")
            return NotFoundError(
                f"{name} cannot be started: there is no program {spec.command}.",
                "Install it, or give its path.",
            )
        case OSError() | ValueError() if spec.command and not isinstance(cause, UnicodeError):
            reason = getattr(cause, "strerror", None) or str(cause)
            return LocalspecError(
                f"{name} cannot be started: {spec.command}: {reason}.", _by_hand(spec)
            )
        case MCPError() if cause.code == CONNECTION_CLOSED and spec.command:
            return LocalspecError(f"{name} ended at once{_seen(notes)}.", _by_hand(spec))
        case _:
            words = str(cause).strip().removesuffix(".").splitlines()
            return LocalspecError(
                f"{name} does not answer as an MCP server does: {words[0] if words else cause!r}.",
                _by_hand(spec),
            )


def last_words(notes: Notes) -> str:
    """What the server said at last on standard error, to follow a sentence; or nothing."""
    line = notes.stderr.last_line() if notes.stderr else ""
    return f": {line}" if line else ""


def _seen(notes: Notes) -> str:
    line = last_words(notes)
    if notes.garbage:
        return f"; on standard output it wrote {notes.garbage!r}, which is no message of MCP{line}"
    return line


def _refused(spec: ServerSpec, name: str, status: int) -> LocalspecError:
    what = _REFUSALS.get(status, "answers with an error")
    hint = "Check the address: often it ends in /mcp."
    if status in (401, 403):
        hint = (
            'Put what it asks for under "headers" in mcp.json: {"Authorization": "Bearer ${TOKEN}"}'
        )
    elif status >= 500:
        hint = "See what the server itself has to say."
    return LocalspecError(f"{name} {what} (HTTP {status}): {spec.url}", hint)


def _by_hand(spec: ServerSpec) -> str | None:
    if not spec.command:
        return None
    return f"See what it does by itself: {shlex.join([spec.command, *spec.args])}"


def _causes(error: BaseException) -> Iterator[Exception]:
    """What a group of exceptions is about: the first that is no group itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    elif isinstance(error, Exception):
        yield error
