"""`localspec bench` as a whole process, on tiny models."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.peer_server import TIMINGS, FakePeer, serving
from tests.tiny import TinyModels, Variant

ENV = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "localspec", "bench", *map(str, arguments)]


def run(home: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={**ENV, "LOCALSPEC_HOME": str(home), "COLUMNS": "100"},
        check=False,
    )


def failed(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    for word in words:
        assert word in done.stderr


@pytest.fixture
def pair(tiny: TinyModels) -> list[object]:
    return ["-m", tiny("llama"), "-d", tiny("llama", Variant(eps=0.05)), "--threads", "1"]


def test_figures_on_the_screen_and_in_the_file(pair: list[object], tmp_path: Path) -> None:
    out, trace = tmp_path / "out.json", tmp_path / "trace.jsonl"
    done = run(
        tmp_path, *pair, "--limit", 8, "-n", 12, "--json", out, "--trace", trace, "--trace-full"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["version"] == 1
    assert list(found["summary"]) == ["plain", "auto", "fixed:4", "lookup"]
    assert len(found["runs"]) == 8 * 4
    assert all(r["identical_to_plain"] for r in found["runs"])
    assert len(found["summary"]["auto"]["by_class"]) == 8
    assert found["model"]["quantization"] == "F32"
    assert found["settings"]["tokens"] == 12
    for word in ("fixed:4", "lookup", "summarise", "× plain", "most memory"):
        assert word in done.stdout
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[0]["kind"] == "localspec-trace"
    answered = [(line["prompt_id"], line["arm"]) for line in lines if "prompt_id" in line]
    assert len(set(answered)) == len([line for line in lines if "prompt_id" in line])
    assert {arm for _, arm in answered} == {"plain", "auto", "fixed:4", "lookup"}
    assert max(len(line.get("proposals", ())) for line in lines) > 4


def test_a_suite_of_ones_own_and_one_prompt_too_long(pair: list[object], tmp_path: Path) -> None:
    suite = tmp_path / "my.jsonl"
    lines = [{"id": "short", "turns": ["Hi"]}, {"id": "endless", "turns": ["a" * 900]}]
    suite.write_text("\n".join(map(json.dumps, lines)))
    base = [*pair, "--suite", suite, "--arms", "plain", "-n", 9]
    done = run(tmp_path, *base, "--ctx", 512)
    assert done.returncode == 0
    assert "endless" in done.stderr
    failed(run(tmp_path, *base, "--ctx", 16), 1, "All prompts are longer than the context of")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--arms", "atuo"], 2, ["Did you mean auto?"]),
        (["--suite", "bultin"], 3, ["Did you mean builtin?"]),
        (["--suite", "EMPTY"], 4, ["is empty"]),
        (["--suite", "WRONG"], 4, ["Line 2 of"]),
        (["--json", "FOLDER"], 2, ["Cannot write", "--json FILE"]),
        (["--json", "-"], 2, ["--json FILE"]),
        (["--json", "FOLDER/none/x.json"], 2, ["Cannot write"]),
        (["--json", "NEW", "--csv", "NEW"], 2, ["same file"]),
        (["--trace-full"], 2, ["--trace FILE"]),
        (["--html", "NEW", "--json", "NEW"], 2, ["same file"]),
        (["--peer", "ftp://me:word@host"], 2, ["--peer http"]),
        (["--peer", "127.0.0.1:1"], 1, ["No peer can be reached at http://127.0.0.1:1/v1"]),
    ],
)
def test_bad_input_is_found_before_anything_loads(
    tmp_path: Path, arguments: list[str], code: int, words: list[str]
) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "wrong").write_text('{"turns": ["a"]}\n{"turns": 3}\n')
    places = {
        "EMPTY": tmp_path / "empty",
        "WRONG": tmp_path / "wrong",
        "NEW": tmp_path / "new.json",
    }
    named = [str(places.get(a, a.replace("FOLDER", str(tmp_path)))) for a in arguments]
    # the model is missing too: that would be said if it were looked for first
    failed(run(tmp_path, "-m", tmp_path / "no.gguf", *named), code, *words)
    assert not (tmp_path / "new.json").exists()


def test_a_peer_and_a_page(pair: list[object], tmp_path: Path) -> None:
    page, out, table = tmp_path / "page.html", tmp_path / "out.json", tmp_path / "t.md"
    suite = tmp_path / "my.jsonl"
    suite.write_text('{"id": "<script>", "turns": ["Hi"]}')
    files = ["--html", page, "--json", out, "--markdown", table]
    with serving(FakePeer(timings=TIMINGS)) as peer:
        url = peer.url.replace("//", "//me:sesame@") + "/v1?key=sesame"
        arguments = [*pair, "--suite", suite, "-n", 12, "--arms", "auto", "--peer", url, *files]
        done = run(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(out.read_text())
    assert [r["arm"] for r in found["runs"]].count("peer") == 1
    assert found["summary"]["peer"]["tokens_per_s"] == 20.0
    assert found["settings"]["peer"]["drafted"] == 12
    shown = " ".join(done.stdout.split())
    assert f"peer is another server, {peer.url}/v1" in shown
    assert "kept 6 of the 12 tokens it drafted" in shown
    assert "**Peer** peer is another server" in table.read_text()
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    command = found["settings"]["command"]
    assert command.startswith("localspec bench -m llama.gguf -d llama.gguf")
    assert "--html page.html" in command
    assert "sesame" not in done.stdout + html + out.read_text() + table.read_text()
    assert str(tmp_path) not in html


def test_a_peer_that_fails_leaves_all_else(pair: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with serving(FakePeer(fault="cut", faults_after=2)) as peer:
        limits = ["--limit", 3, "-n", 12, "--arms", "plain"]
        done = run(tmp_path, *pair, *limits, "--peer", peer.url, "--json", out)
    assert done.returncode == 1
    assert "error: The peer" in done.stderr
    assert "stopped in the middle" in done.stderr
    assert "not complete" in done.stdout
    arms = [r["arm"] for r in json.loads(out.read_text())["runs"]]
    assert (arms.count("plain"), arms.count("peer")) == (3, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_ctrl_c_while_a_peer_is_silent(pair: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with serving(FakePeer(fault="silent", faults_after=2)) as peer:
        limits = ["--limit", 3, "-n", 12, "--arms", "plain"]
        process = subprocess.Popen(
            command(*pair, *limits, "--peer", peer.url, "--json", out),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENV, "LOCALSPEC_HOME": str(tmp_path)},
        )
        end = time.monotonic() + 30
        while time.monotonic() < end and len(peer.asked) < 3:
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=10)
    assert process.returncode == 130, said.decode()
    assert said == b""
    assert b"not complete" in shown
    assert "peer" in [r["arm"] for r in json.loads(out.read_text())["runs"]]


@pytest.mark.skipif(sys.platform == "win32", reason="no signals for one process there")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_shows_and_writes_what_is_finished(
    pair: list[object], tmp_path: Path, name: str
) -> None:
    number = signal.Signals[name]
    out, trace = tmp_path / "out.json", tmp_path / "t.jsonl"
    arguments = [*pair, "--repeat", 900, "-n", 12, "--limit", 8, "--json", out, "--trace", trace]
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENV, "LOCALSPEC_HOME": str(tmp_path)},
    )
    end = time.monotonic() + 30
    while time.monotonic() < end and not (trace.is_file() and trace.stat().st_size > 20_000):
        time.sleep(0.05)
    process.send_signal(number)
    shown, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number, said.decode()
    assert b"Traceback" not in said
    assert b"not complete" in shown
    found = json.loads(out.read_text())
    assert found["runs"]
    assert not found["settings"]["complete"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['localspec', 'bench', '--help']\n"
        "try:\n    runpy.run_module('localspec', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'llama_cpp', 'numpy', 'huggingface_hub', 'jinja2', 'httpx2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    for option in ("--arms", "--peer", "--html", "OPENAI_API_KEY"):
        assert option in done.stdout
    assert "replay" in done.stdout
