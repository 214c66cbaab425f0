"""Servers of MCP by streamable HTTP: a real one, and answers that are none."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from localspec.errors import LocalspecError
from localspec.tools.base import ToolFailedError, ToolTimeoutError
from localspec.tools.mcp_client import McpServer
from localspec.tools.servers import ServerSpec

WEATHER = Path(__file__).with_name("weather_server.py")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Running:
    """The weather server in a process of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.spec = ServerSpec("weather", url=f"http://127.0.0.1:{self.port}/mcp")
        command = [sys.executable, str(WEATHER), str(self.port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def running() -> Iterator[Running]:
    server = Running()
    yield server
    server.end()


@contextmanager
def answering(
    status: int, body: bytes = b"", kind: str = "text/plain"
) -> Iterator[tuple[str, list]]:
    """A web server with one answer to everything; gives its URL and the headers it was sent."""
    seen: list = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp", seen
        finally:
            server.shutdown()
            thread.join()


def test_a_real_server(running: Running, capfd: pytest.CaptureFixture[str]) -> None:
    with McpServer(running.spec) as server:
        tools = {tool.spec.name: tool for tool in server.tools}
        assert tools["weather"].call({"city": "Ulm"}, 10) == "Ulm: sunny for 1 days"
        with pytest.raises(ToolFailedError, match="no clouds"):
            tools["fail"].call({"reason": "no clouds"}, 10)
        with pytest.raises(ToolTimeoutError):
            tools["slow"].call({"seconds": 2}, 0.2)
        assert tools["weather"].call({"city": "Bonn"}, 10).startswith("Bonn")
    assert capfd.readouterr() == ("", "")


def test_a_server_that_goes_away(running: Running, capfd: pytest.CaptureFixture[str]) -> None:
    with McpServer(running.spec) as server:
        threading.Timer(0.3, running.end).start()
        for seconds in (20, 0):
            with pytest.raises(ToolFailedError, match="weather is gone"):
                server.call("slow", {"seconds": seconds}, 10)
    assert capfd.readouterr() == ("", "")


def test_nobody_is_there() -> None:
    with pytest.raises(LocalspecError, match=r"reached at http://127\.0\.0\.1") as caught:
        McpServer(ServerSpec("x", url=f"http://127.0.0.1:{free_port()}/mcp")).__enter__()
    assert caught.value.hint


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (401, r"asks for a login \(HTTP 401\)", "Authorization"),
        (403, r"does not let us in \(HTTP 403\)", "Authorization"),
        (404, r"has nothing at this address \(HTTP 404\)", "/mcp"),
        (503, r"answers with an error \(HTTP 503\)", "the server itself"),
    ],
)
def test_refusals(status: int, words: str, hint: str, capfd: pytest.CaptureFixture[str]) -> None:
    with answering(status) as (url, _), pytest.raises(LocalspecError, match=words) as caught:
        McpServer(ServerSpec("x", url=url)).__enter__()
    assert hint in (caught.value.hint or "")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>", "text/html"), (b"{}", "application/json"), (b"nonsense", "application/json")],
)
def test_a_web_page_is_no_server(body: bytes, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    with (
        answering(200, body, kind) as (url, _),
        pytest.raises(LocalspecError, match="x does not answer as an MCP server does") as caught,
    ):
        McpServer(ServerSpec("x", url=url)).__enter__()
    assert "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")


def test_headers_reach_the_server() -> None:
    with answering(401) as (url, seen), pytest.raises(LocalspecError):
        McpServer(ServerSpec("x", url=url, headers={"Authorization": "Bearer abc"})).__enter__()
    assert {headers["Authorization"] for headers in seen} == {"Bearer abc"}
