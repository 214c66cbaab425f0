"""`run --trace` and `chat --trace` on tiny models: what they write is replayed, and no fault of the
file takes an answer away."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localspec.bench.trace import RecordedPrompt, read_trace
from localspec.cli.conversation import SwitchableConversation
from localspec.cli.writable import check_writable
from localspec.errors import LocalspecError, UsageError
from localspec.events import Finished, Notice
from localspec.trace import TraceWriter
from tests.cli.test_conversation import request
from tests.tiny import TinyModels, Variant

LIMITS = ["-n", "24", "--seed", "5", "--temperature", "1", "--threads", "1"]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "localspec", *map(str, arguments)]


def localspec(*arguments: object, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "300"},
        check=False,
        **({"stdin": subprocess.DEVNULL} | more),
    )


@pytest.fixture
def pair(tiny: TinyModels) -> list[object]:
    return ["-m", tiny("llama"), "-d", tiny("llama", Variant(eps=0.05)), "--depth", 4, *LIMITS]


def named(prompts: list[RecordedPrompt]) -> list[tuple[str, str, str]]:
    return [(p.prompt_id, p.prompt_class, p.arm) for p in prompts]


def test_what_run_writes_is_replayed(pair: list[object], tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text("what was there before\n")
    done = localspec("run", "Hello", *pair, "--json", "--trace", trace)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (prompt,) = read_trace(trace)
    assert named([prompt]) == [("run", "run", "fixed:4")]
    assert prompt.answer == found["token_ids"]
    assert len(prompt.prompt_tokens) == found["prompt_tokens"]
    assert prompt.temperature == 1.0
    assert (prompt.header["seed"], prompt.header["numerics"]) == (5, found["numerics"])
    assert prompt.header["model"]["quantization"] == prompt.header["drafter"]["quantization"]
    # the first round reads the prompt, and counts for no figure
    speculation = found["speculation"]
    assert len(prompt.rounds) == speculation["rounds"] + 1
    assert sum(r.n_accepted for r in prompt.rounds) == speculation["accepted"] > 0
    assert sum(r.n_verified for r in prompt.rounds) == speculation["drafted"]
    again = tmp_path / "again.json"
    replayed = localspec("bench", "replay", trace, "--machine", "discrete-gpu", "--json", again)
    assert replayed.returncode == 0, replayed.stderr
    policies = json.loads(again.read_text())["policies"]
    assert set(policies["auto"]["by_prompt"]) == {"run"}
    plain = localspec("run", "Hello", *pair, "--json")
    assert json.loads(plain.stdout)["token_ids"] == found["token_ids"]


def test_what_chat_writes_is_replayed(pair: list[object], tmp_path: Path) -> None:
    trace, said = tmp_path / "t.jsonl", tmp_path / "said"
    said.write_text(f"Hello\n/regen\n/model {pair[1]}\nAgain\n")
    with said.open() as lines:
        done = localspec("chat", "-q", *pair, "--trace", trace, stdin=lines)
    assert done.returncode == 0, done.stderr
    prompts = read_trace(trace)
    assert named(prompts) == [(f"chat-{n}", "chat", "fixed:4") for n in (1, 2, 3)]
    assert prompts[0].prompt_tokens == prompts[1].prompt_tokens
    assert prompts[0].answer != prompts[1].answer
    # the model that is named anew drafts with what it finds
    assert [p.header["drafter"] is None for p in prompts] == [False, False, True]
    replayed = localspec("bench", "replay", trace, "--machine", "moe")
    assert replayed.returncode == 0, replayed.stderr


@pytest.mark.parametrize("how", ["run", "chat"])
def test_a_file_that_cannot_be_written_is_named_before_anything_loads(
    how: str, tmp_path: Path
) -> None:
    words = ["Hello"] if how == "run" else []
    for trace in (tmp_path, tmp_path / "none" / "t.jsonl"):
        done = localspec(how, *words, "-m", tmp_path / "no.gguf", "--trace", trace)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"error: Cannot write {trace}: ")
        assert "--trace FILE" in done.stderr
        assert done.stdout == ""


def test_what_is_in_the_file_stays_if_no_model_opens(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text("before")
    done = localspec("run", "Hello", "-m", tmp_path / "no.gguf", "--trace", trace)
    assert done.returncode == 3
    assert trace.read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", [[], ["--json"], ["--jsonl"], ["-q"]])
def test_a_full_disk_takes_no_answer_away(pair: list[object], form: list[str]) -> None:
    full = localspec("run", "Hello", *pair, *form, "--trace", "/dev/full")
    usual = localspec("run", "Hello", *pair, *form)
    assert full.returncode == usual.returncode == 0
    if form in ([], ["-q"]):
        assert full.stdout == usual.stdout
    else:
        last = json.loads(full.stdout.splitlines()[-1])
        assert last["token_ids"] == json.loads(usual.stdout.splitlines()[-1])["token_ids"]
    assert full.stderr.count("Cannot write /dev/full: No space left on device.") == 1
    assert "go on without a trace" in full.stderr


@POSIX
def test_a_pipe_whose_reader_leaves(pair: list[object], tmp_path: Path) -> None:
    """The reader gets its lines: looking whether it can be written must not end it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # type: ignore[attr-defined, unused-ignore]
    with subprocess.Popen(["head", "-n", "1", pipe], stdout=subprocess.PIPE) as reader:
        done = localspec("run", "Hello", *pair, "-n", 900, "--ctx", 1024, "--trace", pipe)
        first, _ = reader.communicate(timeout=10)
    assert json.loads(first)["kind"] == "localspec-trace"
    assert done.returncode == 0
    assert done.stdout
    assert done.stderr.count("Broken pipe") == 1


class FailsLater(TraceWriter):
    """A disk that is full after the third round."""

    n_written = 0

    def _write(self, line: Any) -> None:
        self.n_written += 1
        if self.n_written > 5 and self._file is not None:
            self._fail(OSError(28, "No space left on device"))
        super()._write(line)


@pytest.fixture
def failing(
    tiny: TinyModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SwitchableConversation]:
    monkeypatch.setattr("localspec.trace.TraceWriter", FailsLater)
    asked = request(tiny("llama"), trace=tmp_path / "t.jsonl", quiet=False)
    with SwitchableConversation(asked) as opened:
        yield opened


def test_in_a_chat_it_is_said_once_and_all_goes_on(
    failing: SwitchableConversation, tmp_path: Path
) -> None:
    events = list(failing.send("Hello"))
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert "No space left" in notice.message
    assert not isinstance(events[-1], Notice)
    *_, end = failing.send("And then?")
    assert isinstance(end, Finished)
    assert len(end.token_ids) == 8
    assert not [event for event in failing.regenerate() if isinstance(event, Notice)]
    (prompt,) = read_trace(tmp_path / "t.jsonl")
    assert len(prompt.rounds) == 3


def test_an_answer_that_is_stopped_is_in_the_trace(tiny: TinyModels, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    with SwitchableConversation(request(tiny("llama"), trace=trace, max_tokens=200)) as opened:
        with closing(opened.send("Hello")) as events:  # type: ignore[type-var]
            for _ in range(8):
                next(events)
        (prompt,) = read_trace(trace)
        assert 0 < len(prompt.answer) < 200, "written while the chat goes on"


@POSIX
def test_a_kill_leaves_whole_lines(pair: list[object], tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    line = command("run", "Hello", *pair, "-n", 1900, "--ctx", 2000, "--trace", trace)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 30
        while time.monotonic() < end and not (trace.exists() and trace.stat().st_size > 5000):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)  # type: ignore[attr-defined, unused-ignore]
    assert process.returncode == -9
    text = trace.read_text()
    assert text.endswith("\n")
    assert all(json.loads(line) for line in text.splitlines())
    assert read_trace(trace)[0].rounds


@POSIX
def test_looking_changes_nothing(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    check_writable({"--trace": link, "--json": tmp_path / "new"})
    assert link.is_symlink() and sorted(p.name for p in tmp_path.iterdir()) == ["link"]
    with pytest.raises(UsageError, match="same file"):
        check_writable({"--trace": link, "--json": target})
    for name in ("~no-such-user/t", "a\0b"):
        with pytest.raises(LocalspecError, match="Cannot write"):
            check_writable({"--trace": Path(name)})


def test_help_says_whose_the_file_is() -> None:
    for words in (["run"], ["chat"], ["bench"]):
        done = localspec(*words, "--help")
        assert "0600" in done.stdout


@pytest.mark.parametrize("option", ["--trace", "--json"])
def test_what_is_read_is_not_written_over(tmp_path: Path, option: str) -> None:
    model, other = tmp_path / "model.gguf", tmp_path / "other"
    model.write_bytes(b"weights")
    link = tmp_path / "link"
    link.symlink_to(model)
    with pytest.raises(UsageError, match=f"{option} would write over .*, which is read here"):
        check_writable({option: link}, [None, "builtin", model])
    check_writable({option: other}, [model, other])
    assert model.read_bytes() == b"weights"
    assert not other.exists()


def test_a_trace_over_its_own_model_is_refused(tiny: TinyModels, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    whole = tiny("llama").read_bytes()
    model.write_bytes(whole)
    for command in (["run", "--raw", "hi"], ["bench", "--limit", "1"]):
        done = subprocess.run(
            [sys.executable, "-m", "localspec", *command, "-m", model, "--trace", model],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "which is read here" in done.stderr
        assert model.read_bytes() == whole
