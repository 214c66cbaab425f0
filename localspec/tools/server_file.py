"""The user's file of MCP servers, in the shape that other clients have: `{"mcpServers": {"name": {…}}}`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, ConfigDict, field_validator

from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.faults import validated
from localspec.textfile import read_text

_EXAMPLE = 'Expected {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'


class ServerEntry(BaseModel):
    """One server; what other clients say beside this is passed over.

    Attributes:
        command: what to start; or
        url: where it answers.
        type: transport, where that is said.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    type: str | None = None

    @field_validator("env", "headers", mode="before")
    @classmethod
    def _is_an_object(cls, value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError("must be a JSON object of names and texts")
        return value


def read_servers(path: Path) -> Mapping[str, object]:
    """The servers that a file names, not yet checked; none if there is no file.

    Raises:
        UnsupportedFileError: it is no JSON, or not of this shape.
        LocalspecError: it cannot be read.
    """
    try:
        document: object = json.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        _refuse(path, f"byte {error.start} is not UTF-8", error)
    except json.JSONDecodeError as error:
        _refuse(path, f"line {error.lineno}, column {error.colno}: {error.msg}", error)
    except (RecursionError, ValueError) as error:
        _refuse(path, "it is nested too deeply, or has a number that is far too long", error)
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        _refuse(path, 'it has no object "mcpServers"')
    return servers


def checked_entry(path: Path, name: str, data: object) -> ServerEntry:
    """What a file says of one server.

    Raises:
        UnsupportedFileError: a field is wrong, or it is not said what the server is.
    """
    place = f"mcpServers.{name}"
    if not isinstance(data, dict):
        _refuse(path, f"{place} is no JSON object")
    entry = validated(ServerEntry, data, "an MCP server")
    if isinstance(entry, list):
        _refuse(path, f"{place}.{entry[0]}")
    if not entry.command and not entry.url:
        _refuse(path, f"{place} has neither a command nor a url")
    if entry.command and entry.url:
        _refuse(path, f"{place} has a command and a url, and only one can be meant")
    if entry.type == "sse":
        _refuse(path, f"{place} is of the type sse, and only stdio and http can be spoken")
    return entry


def _refuse(path: Path, reason: str, cause: BaseException | None = None) -> NoReturn:
    raise UnsupportedFileError(f"{path} cannot be used: {reason}.", _EXAMPLE) from cause
