"""A chat of six turns with a real model in a real terminal, with a resize and a Ctrl-C on the way."""

import os
import re
import sys
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect", reason="a POSIX terminal is needed")

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

SUMMARY = "drafter: lookup"
"""What only the line under a finished answer says."""

AGAIN = "2004h"
"""How the terminal is told that the prompt is there again."""


@pytest.mark.skipif(sys.platform == "win32", reason="pexpect has no terminal on Windows")
def test_six_turns_in_a_real_terminal(tmp_path: Path) -> None:
    models = os.environ.get("LOCALSPEC_HOME")
    environment = {**os.environ, "TERM": "xterm-256color"}
    saved = tmp_path / "talk.json"
    command = ["-m", "localspec", "chat", "-m", "smollm2-135m", "-n", "60", "--seed", "1"]
    child = pexpect.spawn(
        sys.executable, command, env=environment, dimensions=(24, 80), encoding="utf-8", timeout=120
    )
    assert models is None or Path(models).exists()
    child.expect("/help lists the commands")
    child.expect(AGAIN)
    for turn in range(3):
        child.send(f"Tell me fact number {turn + 1} about cats.\r")
        child.expect(SUMMARY)
        child.expect(AGAIN)
    child.setwinsize(12, 40)
    child.send("Write a very long story about a dog.\r")
    child.expect("tokens/s")
    child.sendintr()
    child.expect("stopped")
    child.expect(AGAIN)
    child.setwinsize(40, 120)
    for turn in range(2):
        child.send(f"And number {turn + 4}?\r")
        child.expect(SUMMARY)
        child.expect(AGAIN)
    child.send("/stats\r")
    child.expect("plain tokens/s")
    child.expect(AGAIN)
    child.send(f"/save {saved}\r")
    child.expect(re.escape(saved.name))
    child.expect(AGAIN)
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    text = saved.read_text(encoding="utf-8")
    assert text.count('"user"') == 6
    assert text.count('"assistant"') == 6
