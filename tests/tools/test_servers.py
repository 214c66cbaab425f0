"""What `--mcp` names is understood, or refused with a sentence that helps."""

import json
import os
import sys
from pathlib import Path

import pytest

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError, UsageError
from localspec.tools.expansion import filled
from localspec.tools.servers import ServerSpec, parse_server

ENVIRON = {"PATH": os.environ["PATH"], "TOKEN": "abc", "EMPTY": "", "HOME": "/home/me"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    servers = {
        "time": {"command": "uvx", "args": ["mcp-server-time", "--zone", "${ZONE:-UTC}"]},
        "files": {
            "command": "./serve",
            "env": {"KEY": "${TOKEN}"},
            "cwd": "/srv",
            "disabled": False,
        },
        "web": {"type": "http", "url": "https://x.org/${TOKEN}", "headers": {"A": "B ${TOKEN}"}},
        "needs": {"command": "x", "args": ["${NOT_SET}"]},
        "my server": {"command": "y"},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}), encoding="utf-8")
    return path


def parsed(value: str, config: Path) -> ServerSpec:
    return parse_server(value, config, ENVIRON)


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("time", ServerSpec("time", "uvx", ("mcp-server-time", "--zone", "UTC"))),
        ("files", ServerSpec("files", "./serve", (), {"KEY": "abc"}, Path("/srv"))),
        ("web", ServerSpec("web", url="https://x.org/abc", headers={"A": "B abc"})),
        ("my server", ServerSpec("my server", "y")),
    ],
)
def test_names_in_the_file(value: str, spec: ServerSpec, config: Path) -> None:
    assert parsed(value, config) == spec


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("http://127.0.0.1:8000/mcp", ServerSpec("127.0.0.1", url="http://127.0.0.1:8000/mcp")),
        ("HTTPS://x.org/${TOKEN}", ServerSpec("x.org", url="HTTPS://x.org/abc")),
        ("cmd a 'b c'", ServerSpec("cmd", "cmd", ("a", "b c"))),
        ("KEY=${TOKEN} N= cmd x=1", ServerSpec("cmd", "cmd", ("x=1",), {"KEY": "abc", "N": ""})),
        ("./serve ${EMPTY:-e}", ServerSpec("serve", "./serve", ("e",))),
        (sys.executable, ServerSpec(Path(sys.executable).name, sys.executable)),
    ],
)
def test_urls_and_commands(value: str, spec: ServerSpec, config: Path) -> None:
    assert parsed(value, config) == spec
    assert parsed(value, config.with_name("none.json")) == spec


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -u tools/server.py --x", "server.py"),
        ("/usr/bin/python3.12 server.py", "server.py"),
        ("npx -y @org/server-files /tmp", "server-files"),
        ("uv run server.py", "server.py"),
        ("docker run -i --rm mcp/time", "time"),
        ("python -i -u", "python"),
        ("/opt/mcp-git --repo x", "mcp-git"),
    ],
)
def test_a_command_has_the_name_of_what_it_runs(command: str, name: str, config: Path) -> None:
    assert parsed(command, config).name == name


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("", UsageError, "is empty"),
        ("  ", UsageError, "is empty"),
        ("http://", UsageError, "names no host"),
        ("http://[x", UsageError, "names no host"),
        ("cmd 'x", UsageError, "is cut short"),
        ("''", UsageError, "is empty"),
        ("'' x", UsageError, "is empty"),
        ("A=1", NotFoundError, "no MCP server"),
        ("A=1 B=2", UsageError, "command is empty"),
        ("needs", UsageError, "server needs needs the environment variable NOT_SET"),
        ("cmd ${NOT_SET}", UsageError, "server cmd needs the environment variable NOT_SET"),
        ("nothing-of-that-name", NotFoundError, "no MCP server and no program named"),
    ],
)
def test_what_names_no_server(
    value: str, kind: type[LocalspecError], words: str, config: Path
) -> None:
    with pytest.raises(kind, match=words) as caught:
        parsed(value, config)
    assert caught.value.hint


def test_hints_name_what_may_have_been_meant(config: Path, tmp_path: Path) -> None:
    def hint(value: str, config: Path) -> str:
        with pytest.raises(NotFoundError) as caught:
            parsed(value, config)
        return caught.value.hint or ""

    assert hint("time2", config) == "Did you mean time?"
    assert "names: time, files, web, needs, my server" in hint("nothing-of-that-name", config)
    assert "'uvx mcp-server-time'" in hint("nothing-of-that-name", config.with_name("none.json"))
    script = tmp_path / "server.py"
    script.touch()
    assert hint(str(script), config) == f"To run a file, say with what: --mcp 'python {script}'"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {', "line 1, column 17"),
        ("[]", 'it has no object "mcpServers"'),
        ('{"servers": {}}', 'it has no object "mcpServers"'),
        ('{"mcpServers": []}', 'it has no object "mcpServers"'),
        ('{"mcpServers": {"x": "uvx"}}', r"mcpServers\.x is no JSON object"),
        ('{"mcpServers": {"x": {}}}', r"mcpServers\.x has neither a command nor a url"),
        ('{"mcpServers": {"x": {"command": "a", "url": "b"}}}', "a command and a url"),
        ('{"mcpServers": {"x": {"command": 1}}}', r"x\.command must be text in quotes"),
        ('{"mcpServers": {"x": {"command": "a", "args": "b"}}}', r"x\.args must be a list"),
        ('{"mcpServers": {"x": {"command": "a", "args": [1]}}}', r"x\.args\.1 must be text"),
        ('{"mcpServers": {"x": {"command": "a", "env": []}}}', r"x\.env must be a JSON object"),
        ('{"mcpServers": {"x": {"command": "a", "env": {"K": 1}}}}', r"x\.env\.K must be text"),
        ('{"mcpServers": {"x": {"url": "http://a", "type": "sse"}}}', "of the type sse"),
        ("9" * 5000, "a number that is far too long"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, words: str, config: Path) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(UnsupportedFileError, match=words) as caught:
        parsed("x", config)
    assert str(config) in caught.value.message
    assert "mcpServers" in (caught.value.hint or "")


def test_a_url_in_the_file_that_is_none(config: Path) -> None:
    config.write_text('{"mcpServers": {"x": {"url": "ftp://a"}}}', encoding="utf-8")
    with pytest.raises(UsageError, match="not http:// or https://"):
        parsed("x", config)


def test_a_broken_file_does_not_matter_to_commands_and_urls(config: Path) -> None:
    config.write_text("{", encoding="utf-8")
    assert parsed("cmd x", config).command == "cmd"
    assert parsed("http://x", config).url == "http://x"
    config.write_bytes(b'{"\xff')
    with pytest.raises(UnsupportedFileError, match="byte 2 is not UTF-8"):
        parsed("time", config)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(LocalspecError, match=f"Cannot read {tmp_path}"):
        parsed("time", tmp_path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain $TOKEN {TOKEN} ${} ${1}", "plain $TOKEN {TOKEN} ${} ${1}"),
        ("${TOKEN}${TOKEN}", "abcabc"),
        ("a${EMPTY}b", "ab"),
        ("${EMPTY:-x}${UNSET_HERE:-y}${UNSET_HERE:-}", "xy"),
        ("${TOKEN:-x}", "abc"),
    ],
)
def test_variables(text: str, value: str) -> None:
    assert filled(text, ENVIRON, "s") == value


def test_a_value_is_not_looked_through_again() -> None:
    assert filled("${A}", {"A": "${B}"}, "s") == "${B}"
