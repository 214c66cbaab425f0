"""Servers of MCP, sound and broken, over standard input and output."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localspec.errors import LocalspecError, NotFoundError
from localspec.tools.base import ToolFailedError, ToolTimeoutError
from localspec.tools.mcp_client import McpServer
from localspec.tools.servers import ServerSpec
from tests.tools.servers_by_hand import by_hand, spec_of, tool

WEATHER = Path(__file__).with_name("weather_server.py")


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.fixture(autouse=True)
def no_child_stays(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """After every test: no process, no thread, and not a word on the terminal."""
    before, threads = children(), set(threading.enumerate())
    yield
    assert children() <= before
    for thread in set(threading.enumerate()) - threads:
        thread.join(1)
        assert not thread.is_alive(), thread.name
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def weather() -> Iterator[McpServer]:
    with McpServer(ServerSpec("weather", sys.executable, (str(WEATHER),))) as server:
        yield server


def test_tools_of_a_real_server(weather: McpServer) -> None:
    tools = {tool.spec.name: tool for tool in weather.tools}
    assert list(tools) == ["weather", "report", "picture", "fail", "slow"]
    assert tools["weather"].origin == "MCP server weather"
    assert tools["weather"].spec.description == "The weather in a city."
    assert tools["weather"].spec.parameters["required"] == ["city"]
    assert tools["weather"].call({"city": "Ulm"}, 10) == "Ulm: sunny for 1 days"
    assert '"degrees": 21.5' in tools["report"].call({"city": "Ulm"}, 10)
    assert tools["picture"].call({}, 10) == "[image/png, 12 kB]"


def test_a_server_says_that_a_call_failed(weather: McpServer) -> None:
    with pytest.raises(ToolFailedError, match="no clouds"):
        weather.call("fail", {"reason": "no clouds"}, 10)
    with pytest.raises(ToolFailedError, match="city"):
        weather.call("weather", {}, 10)
    with pytest.raises(ToolFailedError, match="nothing"):
        weather.call("nothing", {}, 10)


def test_a_call_that_hangs_leaves_the_others(weather: McpServer) -> None:
    start = time.monotonic()
    with pytest.raises(ToolTimeoutError, match=r"within 0\.3 seconds"):
        weather.call("slow", {"seconds": 2}, 0.3)
    assert time.monotonic() - start < 1.5
    assert weather.call("weather", {"city": "Bonn"}, 10).startswith("Bonn")


def test_calls_from_threads_do_not_wait_for_each_other(weather: McpServer) -> None:
    slow = threading.Thread(target=weather.call, args=("slow", {"seconds": 0.5}, 10))
    slow.start()
    assert weather.call("weather", {"city": "Bonn"}, 10).startswith("Bonn")
    slow.join()


def test_after_leaving_calls_fail(tmp_path: Path) -> None:
    with McpServer(by_hand(tmp_path, [tool("ping")])) as server:
        pass
    with pytest.raises(ToolFailedError, match="was closed"):
        server.tools[0].call({}, 1)


def test_every_page_is_read(tmp_path: Path) -> None:
    pages = ([tool("a"), tool("b")], [tool("c")], [], [tool("d")])
    with McpServer(by_hand(tmp_path, *pages)) as server:
        assert [t.spec.name for t in server.tools] == ["a", "b", "c", "d"]


def test_a_bad_schema_costs_nobody_anything(tmp_path: Path) -> None:
    page = [
        tool("list", inputSchema=[1]),
        {"name": "none"},
        tool("string", inputSchema={"type": "string"}),
        tool("untyped", inputSchema={"properties": {"x": {"type": "integer"}}}),
        tool("odd", description=7, title="Odd", annotations="x", outputSchema="y", inputSchema={}),
        {"description": "no name"},
        "no tool",
    ]
    with McpServer(by_hand(tmp_path, page)) as server:
        specs = {t.spec.name: t.spec for t in server.tools}
    assert list(specs) == ["list", "none", "string", "untyped", "odd"]
    empty = {"type": "object", "properties": {}}
    assert all(specs[name].parameters == empty for name in ("list", "none", "string", "odd"))
    assert specs["untyped"].parameters == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
    }
    assert specs["odd"].description == "Odd"


def test_results_of_every_kind(tmp_path: Path) -> None:
    def answer(*content: object, **fields: object) -> dict[str, object]:
        return {"content": list(content), **fields}

    text = {"type": "text", "text": "two\nlines"}
    sound = {"type": "audio", "data": "eHg=", "mimeType": "audio/wav"}
    answers = {
        "text": answer(text, sound),
        "structured": answer(structuredContent={"ä": [1]}),
        "resource": answer(
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "eHg="}},
            {"type": "resource_link", "name": "c", "uri": "file:///c"},
        ),
        "nothing": answer(),
        "no reason": answer(isError=True),
        "no result": {"content": "text"},
    }
    with McpServer(by_hand(tmp_path, [tool(name) for name in answers], answers=answers)) as server:
        assert server.call("text", {}, 5) == "two\nlines\n[audio/wav, 2 bytes]"
        assert server.call("structured", {}, 5) == '{"ä":[1]}'
        assert server.call("resource", {}, 5) == (
            "inside\n[a file, 2 bytes: file:///b]\n[a link to c: file:///c]"
        )
        assert server.call("nothing", {}, 5) == ""
        with pytest.raises(ToolFailedError, match="gives no reason"):
            server.call("no reason", {}, 5)
        with pytest.raises(ToolFailedError, match="no result as MCP has it"):
            server.call("no result", {}, 5)


def test_a_server_that_dies_in_a_call(tmp_path: Path) -> None:
    with McpServer(by_hand(tmp_path, [tool("die"), tool("other")])) as server:
        for name in ("die", "other"):
            with pytest.raises(ToolFailedError, match="odd is gone: out of cheese"):
                server.call(name, {}, 10)


def test_much_on_standard_error_stops_nobody(tmp_path: Path) -> None:
    noise = "print('noise ' * 100_000, file=sys.stderr, flush=True)"
    with (
        McpServer(by_hand(tmp_path, [tool("die")], before=noise)) as server,
        pytest.raises(ToolFailedError, match="out of cheese"),
    ):
        server.call("die", {}, 10)


def test_a_banner_before_the_first_message_is_passed_over(tmp_path: Path) -> None:
    banner = (
        "print('Welcome!', flush=True); sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()"
    )
    with McpServer(by_hand(tmp_path, [tool("a")], before=banner)) as server:
        assert len(server.tools) == 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('no key given')", "ended at once: no key given"),
        ("", r"ended at once\."),
        ("import time; time.sleep(60)", r"did not answer within 1.5 seconds\."),
        (
            "import sys, time\nprint('hello', flush=True)\nprint('x', file=sys.stderr, flush=True)\n"
            "time.sleep(60)",
            "did not answer .*; on standard output it wrote 'hello', which is no message of MCP: x",
        ),
        ("print('just a program')", "ended at once; on standard output it wrote 'just a program'"),
    ],
)
def test_what_is_no_server(tmp_path: Path, script: str, words: str) -> None:
    with (
        pytest.raises(LocalspecError, match=f"The MCP server odd {words}") as caught,
        McpServer(spec_of(tmp_path, script), seconds=1.5),
    ):
        pass
    assert "odd_server.py" in (caught.value.hint or "")


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no program nothing-of-that-name"):
        McpServer(ServerSpec("x", "nothing-of-that-name")).__enter__()
    with pytest.raises(NotFoundError, match="nowhere, which is no folder"):
        McpServer(ServerSpec("x", sys.executable, cwd=tmp_path / "nowhere")).__enter__()
    file = tmp_path / "plain.txt"
    file.write_text("text", encoding="utf-8")
    with pytest.raises(LocalspecError, match=r"plain\.txt: Permission denied"):
        McpServer(ServerSpec("x", str(file))).__enter__()


def test_environment_and_folder_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "1")
    before = (
        "where = os.getcwd() + ' ' + os.environ['GREETING'] + str('SECRET_OF_MINE' in os.environ)\n"
        "PAGES = ([{'name': 'x', 'description': where}],)"
    )
    plain = by_hand(tmp_path, before=before)
    spec = ServerSpec("x", plain.command, plain.args, {"GREETING": "hi"}, tmp_path)
    with McpServer(spec) as server:
        assert server.tools[0].spec.description == f"{tmp_path} hiFalse"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_exception_inside_goes_through_and_ends_the_server(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    with pytest.raises(kind), McpServer(by_hand(tmp_path, [tool("a")])):
        raise kind


def test_a_server_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    before = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    spec = by_hand(tmp_path, [tool("a")], before=before, after="time.sleep(60)")
    with McpServer(spec):
        assert children()


def test_the_sdk_says_nothing_on_the_terminal(tmp_path: Path) -> None:
    """In a process of its own, since pytest catches what is logged."""
    spec = by_hand(tmp_path, [tool("die")], before="print('no message', flush=True)")
    program = f"""
import logging
logging.basicConfig()
from localspec.tools.base import ToolFailedError
from localspec.tools.mcp_client import McpServer
from localspec.tools.servers import ServerSpec
with McpServer(ServerSpec("odd", {spec.command!r}, {spec.args!r})) as server:
    try:
        server.call("die", {{}}, 10)
    except ToolFailedError as error:
        print(error.message)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=WEATHER.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("the MCP server odd is gone: out of cheese\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("where", ["start", "call"])
def test_ctrl_c_ends_the_server_even_if_pressed_twice(tmp_path: Path, where: str) -> None:
    """In a process of its own: once while it waits, and again while it cleans up."""
    stubborn = by_hand(
        tmp_path,
        [tool("hang")],
        before="print(os.getpid(), file=open('pid', 'w'), flush=True)\n"
        + ("time.sleep(60)" if where == "start" else ""),
        after="time.sleep(60)",
    )
    program = f"""
from localspec.tools.mcp_client import McpServer
from localspec.tools.servers import ServerSpec
with McpServer(ServerSpec("odd", {stubborn.command!r}, {stubborn.args!r})) as server:
    print("ready", flush=True)
    server.call("hang", {{}}, 60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(WEATHER.parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        if where == "call":
            assert process.stdout.readline() == "ready\n"
        pid = _pid_in(tmp_path / "pid")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "never retrieved" not in errors
    assert not psutil.pid_exists(pid)


def _pid_in(path: Path) -> int:
    for _ in range(200):
        if path.exists() and (text := path.read_text(encoding="utf-8").strip()):
            return int(text)
        time.sleep(0.05)
    raise AssertionError("the server did not start")
