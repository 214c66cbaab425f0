"""The chat without a terminal: lines in, answers out, and how it ends."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("closed descriptors and signals are POSIX's", allow_module_level=True)

from tests.ui.chat_window import ROOT, calls, command, environment


def chat(tmp_path: Path, lines: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(tmp_path / "log", tmp_path / "history", *options),
        input=lines,
        capture_output=True,
        cwd=ROOT,
        env=environment(),
        timeout=30,
    )


def test_each_line_is_a_question_and_only_answers_go_to_standard_output(tmp_path: Path) -> None:
    done = chat(tmp_path, b"\xef\xbb\xbfone two\n\n/stats\r\n//help\nC:\\\nlast")
    assert done.stdout.decode().splitlines() == ["<one><two>", "</help>", "<C:\\>", "<last>"]
    assert "tokens/s  21.5" in done.stderr.decode()
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"lists the commands" not in done.stderr
    assert done.returncode == 0
    assert not (tmp_path / "history").exists()


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    done = chat(tmp_path, b"caf\xe9 \xff\n")
    assert done.stdout.decode() == "<caf\ufffd><\ufffd>\n"
    assert done.returncode == 0


def test_an_error_ends_neither_the_chat_nor_its_exit_code(tmp_path: Path) -> None:
    done = chat(tmp_path, b"fail\n/nonsense\nrefuse\ngo on\n")
    assert done.stdout.decode().splitlines() == ["<fail>", "<go><on>"]
    assert done.stderr.decode().count("error: ") == 3
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0


def test_quit_leaves_the_rest_unread(tmp_path: Path) -> None:
    done = chat(tmp_path, b"one\n/quit\ntwo\n", "--quiet")
    assert done.stdout.decode() == "<one>\n"
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_closed_or_empty_standard_input_is_an_end_with_a_reason(tmp_path: Path) -> None:
    line = " ".join(f"'{word}'" for word in command(tmp_path / "log"))
    for source in ("<&-", "</dev/null"):
        done = subprocess.run(
            ["sh", "-c", f"{line} {source}"],
            capture_output=True,
            cwd=ROOT,
            env=environment(),
            timeout=30,
        )
        assert (done.returncode, done.stdout) == (0, b"")
        said = done.stderr.decode()
        assert "nothing was said" in said
        assert 'localspec run "your question"' in said
    assert chat(tmp_path, b"\n", "--quiet").stderr == b""
    assert b"nothing was said" not in chat(tmp_path, b"/help\n").stderr


def test_when_nobody_reads_on_the_answer_is_stopped_in_silence(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path / "log", "--quiet"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"slow\nmore\n")
        process.stdin.close()
        assert process.stdout.read(7) == b"<word0>"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    ends = [call[1] for call in calls(tmp_path / "log") if call[0] == "end"]
    assert len(ends) == 1
    assert ends[0] < 50


def test_ctrl_c_stops_the_answer_and_the_chat_with_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path / "log"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"slow\nmore\n")
        process.stdin.close()
        assert process.stdout.read(7) == b"<word0>"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        answer = process.stdout.read().decode()
        assert answer.startswith("<word1>")
        assert answer.endswith(">\n")
        assert "more" not in answer
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 130
