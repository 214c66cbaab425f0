"""A whole program in real terminals: tmux where it is installed, a pseudo-terminal, pipes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

import pexpect

from tests.ui.driver import LONG, SHORT

ROOT = Path(__file__).parents[2]
DRIVER = [sys.executable, "-m", "tests.ui.driver"]


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1", **more}


class Tmux:
    """One window of a tmux server of its own."""

    def __init__(self, folder: Path) -> None:
        settings = folder / "tmux.conf"
        settings.write_text("set -g history-limit 5000\n", "utf-8")
        self._command = ["tmux", "-S", str(folder / "socket"), "-f", str(settings)]
        self("new-session", "-d", "-x", "60", "-y", "15", "-s", "t", "env PS1= sh")

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, check=True, timeout=10,
            env=environment(LC_ALL="C.UTF-8"),
        )  # fmt: skip
        return done.stdout

    def resize(self, columns: int, lines: int) -> None:
        self("resize-window", "-t", "t", "-x", str(columns), "-y", str(lines))

    def shown(self) -> str:
        """The screen and what has scrolled off, rows that wrapped joined again."""
        return self("capture-pane", "-t", "t", "-p", "-J", "-S", "-")

    def wait_for(self, condition: Callable[[str], bool]) -> str:
        """What is shown when `condition` holds of it."""
        end = time.monotonic() + 15
        while not condition(shown := self.shown()):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    window = Tmux(tmp_path)
    yield window
    window("kill-server")


def without_blanks(text: str) -> str:
    return "".join(text.split())


def test_long_answer_resized_in_tmux(tmux: Tmux) -> None:
    """Guards text and scrollback in a terminal that reflows, through 12 resizes: no word is lost,
    doubled or cut, wherever lines have been broken."""
    tmux("send-keys", "-t", "t", f"cd '{ROOT}'; {' '.join(DRIVER)} --long --pace 0.002", "Enter")
    tmux.wait_for(lambda shown: "tokens/s" in shown)
    for size in [(45, 12), (80, 20), (31, 9), (120, 30), (20, 5), (60, 15)] * 2:
        tmux.resize(*size)
        time.sleep(0.1)
    assert "prompt tokens" not in tmux.shown(), "the answer was over before the resizes"
    shown = tmux.wait_for(lambda shown: "prompt tokens" in shown)
    shown = shown[shown.index("Let me think.") :]
    text, _, figures = shown.partition("3 tokens · ")
    assert without_blanks(text) == without_blanks("Let me think." + LONG)
    assert figures.startswith("23.4 tokens/s")


def test_enter_during_the_answer_in_tmux(tmux: Tmux) -> None:
    """Guards the text against keys: an echoed Enter would move it into the status line."""
    tmux("send-keys", "-t", "t", f"cd '{ROOT}'; {' '.join(DRIVER)} --pace 0.05", "Enter")
    tmux.wait_for(lambda shown: "tokens/s" in shown)
    tmux("send-keys", "-t", "t", "x", "Enter", "y", "Enter")
    shown = tmux.wait_for(lambda shown: "prompt tokens" in shown)
    assert "\n" + SHORT + "3 tokens" in shown
    tmux("send-keys", "-t", "t", "stty -a", "Enter")
    tmux.wait_for(lambda shown: " echo " in shown)


def test_a_job_in_the_background_is_not_stopped() -> None:
    """Guards `localspec run … &`: the system stops a job that changes the terminal from there."""
    child = pexpect.spawn(
        "bash", ["--norc", "-i"], cwd=ROOT, env=environment(PS1=""), encoding="utf-8", timeout=15
    )
    child.sendline(" ".join(DRIVER) + " & wait; echo status=$?")
    child.expect(r"prompt tokens[^\0]*status=0\r")
    child.close(force=True)


def test_ctrl_c_in_tmux(tmux: Tmux) -> None:
    """Guards the screen after Ctrl-C: the text so far, one line of figures, nothing else."""
    tmux("send-keys", "-t", "t", f"cd '{ROOT}'; {' '.join(DRIVER)} --long --pace 0.01", "Enter")
    tmux.wait_for(lambda shown: "\n2: " in shown)
    tmux("send-keys", "-t", "t", "C-c", "")
    shown = tmux.wait_for(lambda shown: "stopped" in shown)
    tmux("send-keys", "-t", "t", "echo status=$?", "Enter")
    shown = tmux.wait_for(lambda shown: "status=130" in shown)
    assert shown.count("tokens/s") == 1
    text = shown[shown.index("0: words") : shown.index("stopped")]
    assert without_blanks(LONG).startswith(without_blanks(text))


def test_ctrl_z_in_tmux(tmux: Tmux) -> None:
    """Guards a suspended answer: no rest of a status line, and keys still unseen when it goes on."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    line = f"{' '.join(DRIVER)} --long --pace 0.004"
    tmux("send-keys", "-t", "t", f"cd '{ROOT}'; PS1= bash --norc", "Enter", line, "Enter")
    tmux.wait_for(lambda shown: "\n2: " in shown and "tokens/s" in shown)
    tmux("send-keys", "-t", "t", "C-z", "")
    shown = tmux.wait_for(lambda shown: "Stopped" in shown)
    assert "tokens/s" not in shown
    tmux("send-keys", "-t", "t", "fg", "Enter")
    tmux.wait_for(lambda shown: "fg\n" in shown and "tokens/s" in shown)
    tmux("send-keys", "-t", "t", "zzz", "")
    shown = tmux.wait_for(lambda shown: "prompt tokens" in shown)
    before = shown[shown.index("0: words") : shown.index("[1]+")]
    after = shown.rpartition("--pace 0.004\n")[2].partition("3 tokens · ")[0]
    assert without_blanks(before + after) == without_blanks(LONG), shown


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_terminal(term: str) -> None:
    """Guards what both streams together show on a terminal; a dumb one gets no sequence at all."""
    child = pexpect.spawn(
        DRIVER[0], DRIVER[1:], cwd=ROOT, env=environment(TERM=term), encoding="utf-8", timeout=15
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert ("\x1b" in child.before) == (term != "dumb")
    if term == "dumb":
        assert SHORT in child.before.replace("\r\n", "\n")


def run(*options: str, command: str = "{driver}", **env: str) -> tuple[bytes, bytes]:
    """Standard output and error of a shell command around the driver, without a terminal."""
    line = command.format(driver=" ".join([*DRIVER, *options]))
    done = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, env=environment(**env), capture_output=True, timeout=20,
        check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_pipe_gets_the_answer_and_nothing_else() -> None:
    """Guards `localspec run … > answer.md`: the bytes of the answer, figures on the other stream."""
    out, err = run("--drafts")
    assert out.decode() == SHORT
    assert "23.4 tokens/s" in err.decode()
    assert b"\x1b" not in err


def test_quiet_says_nothing() -> None:
    """Guards -q: standard error stays empty."""
    out, err = run("--quiet")
    assert out.decode() == SHORT
    assert err == b""


def test_reader_that_leaves() -> None:
    """Guards `| head -1`: no error, no traceback."""
    out, err = run("--long", command="{driver} | head -1")
    assert out.decode() == LONG.splitlines()[0] + "\n"
    assert b"Error" not in err
    assert b"Traceback" not in err


def test_streams_that_are_closed() -> None:
    """Guards a program started without standard error."""
    out, _ = run(command="{driver} 2>&-")
    assert out.decode() == SHORT


def test_encoding_without_the_characters() -> None:
    """Guards a pipe in ASCII: question marks and plain signs, no failure."""
    out, err = run(PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert b"It is ??, ? and e?." in out
    assert b"1.85 x plain | 87 % accepted" in err
