"""Streams that are closed, full or without a width: a sentence and the right exit code, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import TinyModels

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell's own ways")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = f"{shlex.quote(sys.executable)} -m localspec {line}"
    return subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
        check=False,
    )


@pytest.mark.parametrize("form", ["-q", "--json", "--jsonl"])
def test_without_standard_output_nothing_is_wrong(tiny: TinyModels, form: str) -> None:
    model = shlex.quote(str(tiny("llama")))
    done = shell(f"run --raw {form} -n 3 --threads 1 -m {model} hi >&-")
    assert done.returncode == 0, done.stderr
    assert b"fault" not in done.stderr


def test_without_standard_input_there_is_no_prompt() -> None:
    done = shell("run - <&-")
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: There is no prompt.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("what", ["--version", "--help", "recipes", "models --json"])
def test_a_full_disk_is_said(what: str) -> None:
    done = shell(f"{what} >/dev/full")
    assert done.returncode == 5
    assert done.stderr.startswith(b"error: There is no room to write")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_a_width_of_nothing_is_no_width() -> None:
    assert b"smollm2-135m" in shell("recipes", COLUMNS="0").stdout


def test_an_error_does_not_quote_without_end(tmp_path: Path) -> None:
    done = shell(f"run -m {'x' * 5000}/y/z hi")
    assert done.returncode == 2
    assert len(done.stderr) < 2000
