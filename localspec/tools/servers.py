"""Which MCP server is meant by `--mcp VALUE`: a URL, a name in the user's file, or a command."""

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.paths import expanded
from localspec.tools.expansion import filled
from localspec.tools.server_file import checked_entry, read_servers

_IS_URL = re.compile(r"https?://", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_RUNNERS = re.compile(r"python[0-9.]*|py|node|npx|uvx|uv|deno|bunx?|docker|podman|pipx|sh|bash")
_SUBCOMMANDS = ("run", "exec", "tool", "x")
_FORMS = "Give a URL, a command in quotes such as 'uvx mcp-server-time', or a name in {config}."


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to reach a server: by a command that speaks MCP on its standard input and output, or by HTTP.

    Attributes:
        name: what the user knows it by.
        command: program to start; empty if there is a URL.
        args: its arguments.
        env: variables on top of the few that a server gets anyway (PATH, HOME, …).
        cwd: folder to start it in; None for ours.
        url: of its endpoint (streamable HTTP); empty if there is a command.
        headers: of each request.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def parse_server(value: str, config: Path, environ: Mapping[str, str] = os.environ) -> ServerSpec:
    """What the user typed as a server. A URL wins, then a name in the file.

    Args:
        value: a URL; a name; or a command line, with `NAME=value` before it if it needs that.
        config: the file with the user's servers; it need not exist.
        environ: values of `${VAR}` in any of it.

    Raises:
        UsageError: `value` has none of the forms, or a variable is not set.
        NotFoundError: a single word that is neither in the file nor a program.
        UnsupportedFileError: the file is no JSON, or not of the shape.
        LocalspecError: the file cannot be read.
    """
    value = value.strip()
    forms = _FORMS.format(config=config)
    if not value or "\0" in value:
        raise UsageError("The MCP server's name is empty.", forms)
    if _IS_URL.match(value):
        return _by_url(_host(value), value, {}, environ)
    words = _words(value, forms)
    if not words or not words[0]:
        raise UsageError(f"The command {value} is empty.", forms)
    try:
        servers = read_servers(config)
    except LocalspecError:
        # a command line says all by itself
        if len(words) == 1:
            raise
        servers = {}
    if value in servers:
        return _from_file(config, value, servers[value], environ)
    if len(words) == 1 and shutil.which(expanded(words[0]), path=environ.get("PATH")) is None:
        raise _unknown(words[0], tuple(servers), config, forms)
    return _by_command(words, environ, forms)


def _from_file(path: Path, name: str, data: object, environ: Mapping[str, str]) -> ServerSpec:
    entry = checked_entry(path, name, data)
    if entry.url:
        if not _IS_URL.match(filled(entry.url, environ, name)):
            raise UsageError(f"The url of the MCP server {name} is not http:// or https://.")
        return _by_url(name, entry.url, entry.headers, environ)
    return ServerSpec(
        name,
        _program(filled(entry.command or "", environ, name)),
        tuple(filled(arg, environ, name) for arg in entry.args),
        {key: filled(text, environ, name) for key, text in entry.env.items()},
        expanded(filled(entry.cwd, environ, name)) if entry.cwd else None,
    )


def _by_url(
    name: str, url: str, headers: Mapping[str, str], environ: Mapping[str, str]
) -> ServerSpec:
    url = filled(url, environ, name)
    if not _host(url):
        raise UsageError(f"'{url}' names no host.", "For example http://127.0.0.1:8000/mcp")
    filled_headers = {key: filled(text, environ, name) for key, text in headers.items()}
    return ServerSpec(name or _host(url), url=url, headers=filled_headers)


def _by_command(words: list[str], environ: Mapping[str, str], forms: str) -> ServerSpec:
    env: dict[str, str] = {}
    while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
        env[assignment["name"]] = assignment["value"]
        words = words[1:]
    if not words:
        raise UsageError("The MCP server's command is empty.", forms)
    name = _short_name(words)
    command, *args = (filled(word, environ, name) for word in words)
    env = {key: filled(text, environ, name) for key, text in env.items()}
    return ServerSpec(name, _program(command), tuple(args), env)


def _program(command: str) -> str:
    # only where it must be: a Path would lose the ./ that says where to look
    return str(expanded(command)) if command.startswith("~") else command


def _words(value: str, forms: str) -> list[str]:
    try:
        if os.name == "nt":
            # a backslash is part of a path there
            return [word.strip('"') for word in shlex.split(value, posix=False)]
        return shlex.split(value)
    except ValueError as error:
        raise UsageError(f"The command '{value}' is cut short: {error}.", forms) from error


def _short_name(words: list[str]) -> str:
    """What a command is about: the program, or what is run by a runner such as npx."""
    program, *rest = words
    stem = PurePath(program).name.removesuffix(".exe")
    if _RUNNERS.fullmatch(stem):
        subjects = (w for w in rest if not w.startswith("-") and w not in _SUBCOMMANDS)
        return PurePath(next(subjects, stem)).name
    return stem


def _host(url: str) -> str:
    with suppress(ValueError):
        return urlsplit(url).hostname or ""
    return ""


def _unknown(word: str, names: tuple[str, ...], config: Path, forms: str) -> NotFoundError:
    hint = forms
    if expanded(word).is_file():
        hint = f"To run a file, say with what: --mcp 'python {word}'"
    elif close := difflib.get_close_matches(word, names, n=1):
        hint = f"Did you mean {close[0]}?"
    elif names:
        hint = f"{config} names: {', '.join(names)}."
    return NotFoundError(f"There is no MCP server and no program named {word}.", hint)
