"""Signals at each stage of a run: the text that came is kept, the exit code tells, nothing is dumped."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of a POSIX terminal"),
]

COMMAND = [sys.executable, "-m", "localspec", "run", "-m", "smollm2-135m", "--seed", "1"]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments, "Write a long story."],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )


def finish(process: subprocess.Popen[bytes], number: int = signal.SIGINT) -> tuple[bytes, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    said = err.decode()
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    return out, said


def test_while_answering_keeps_the_text() -> None:
    process = start("-n", "2000")
    assert process.stdout is not None
    first = process.stdout.read(20)
    out, said = finish(process)
    assert len(first + out) >= 20
    assert "stopped" in said


def test_while_loading() -> None:
    """llama.cpp's own log tells when loading has begun; before that it is Python that starts."""
    process = start("-n", "2000", "-v")
    assert process.stderr is not None
    process.stderr.readline()
    finish(process)


@pytest.mark.parametrize("loading", [True, False])
def test_asked_to_end(loading: bool) -> None:
    """SIGTERM during a callback from C must not get lost, and ends an answer in order."""
    # the log, of which nobody reads more, would fill its pipe
    process = start("-n", "2000", *(["-v"] if loading else []))
    stream = process.stderr if loading else process.stdout
    assert stream is not None
    stream.read(20)
    finish(process, signal.SIGTERM)
