"""A terminal window with a chat in it: keys go in, the screen that a person would see comes out.

pexpect holds the pseudo-terminal, pyte is the screen; like a terminal it answers when it is asked
where its cursor is.
"""

import json
import os
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte

ROOT = Path(__file__).parents[2]
UP, ALT_ENTER, CTRL_C, CTRL_D, CTRL_J = "\x1b[A", "\x1b\r", "\x03", "\x04", "\n"
PROMPT = "> "
PATIENCE_S = 20.0


def environment(term: str = "xterm-256color", **more: str) -> dict[str, str]:
    """The process's own, without what decides on colours."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "TERM": term, "PYTHONUTF8": "1", **more}


def command(*arguments: object) -> list[str]:
    """The command line of the driver."""
    return [sys.executable, "-m", "tests.ui.chat_driver", *map(str, arguments)]


def calls(log: Path) -> list[list[Any]]:
    """What was asked of the scripted conversation."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


class _Screen(pyte.HistoryScreen):
    answer: Callable[[str], None]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class ChatWindow:
    """A chat that runs in a window of its own."""

    def __init__(self, folder: Path, term: str = "xterm-256color", *options: str) -> None:
        self.log = folder / "log"
        self._screen = _Screen(80, 24, history=10_000, ratio=0.001)
        self._feed = pyte.ByteStream(self._screen)
        program, *arguments = command(self.log, folder / "data" / "history", *options)
        self.child = pexpect.spawn(
            program, arguments, cwd=str(ROOT), env=environment(term), dimensions=(24, 80)
        )
        self.child.delaybeforesend = None
        self._screen.answer = self.child.send
        self.raw = b""

    def type(self, keys: str | bytes) -> None:
        self.child.send(keys)

    def say(self, text: str) -> None:
        """Type a text and Enter, at a prompt."""
        self.wait_for_prompt()
        self.type(text + "\r")

    def resize(self, columns: int, lines: int) -> None:
        self.child.setwinsize(lines, columns)
        self._screen.resize(lines, columns)

    def rows(self) -> list[str]:
        """Everything shown so far, rows that have scrolled off included."""
        scrolled = [
            "".join(row[x].data for x in range(self._screen.columns))
            for row in self._screen.history.top
        ]
        rows = [row.rstrip() for row in scrolled + list(self._screen.display)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def shown(self) -> str:
        return "\n".join(self.rows())

    def wait_for(self, condition: Callable[[], bool]) -> str:
        """What is shown once `condition` holds."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            runs = self._pump()
            assert (runs and time.monotonic() < end) or condition(), (
                f"{self.shown()}\n{calls(self.log)}"
            )
        return self.shown()

    def wait_for_text(self, text: str, times: int = 1) -> str:
        return self.wait_for(lambda: self.shown().count(text) >= times)

    def wait_until_still(self) -> None:
        """Wait until nothing more comes, as a person does before a key that acts on a menu."""
        still_since = time.monotonic()
        while time.monotonic() - still_since < 0.2:
            before = len(self.raw)
            self._pump()
            if len(self.raw) > before:
                still_since = time.monotonic()

    def wait_for_prompt(self) -> str:
        """Wait until the chat reads keys at an empty prompt."""
        return self.wait_for(self._at_prompt)

    def wait_for_call(self, *call: object) -> None:
        self.wait_for(lambda: list(call) in calls(self.log))

    def wait_for_end(self) -> int:
        """The exit code."""
        self.wait_for(lambda: not self._pump())
        self.child.wait()
        code = self.child.exitstatus
        assert code is not None, f"killed by signal {self.child.signalstatus}"
        return int(code)

    def modes(self) -> list[Any]:
        """How the terminal treats keys and characters."""
        return termios.tcgetattr(self.child.child_fd)[:4]

    def close(self) -> None:
        self.child.close(force=True)

    def _at_prompt(self) -> bool:
        row = self._screen.display[self._screen.cursor.y].rstrip()
        return row == PROMPT.rstrip() and self._screen.cursor.x == len(PROMPT)

    def _pump(self) -> bool:
        """Take in what came; False at the end."""
        try:
            data = self.child.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._feed.feed(data)
        return True
