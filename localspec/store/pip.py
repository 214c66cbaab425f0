"""One wheel through pip, with the user's own pip configuration (index, mirror, certificates).

It knows requirement strings and folders, not what wheels hold. `wheels.py` reads them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from localspec.errors import LocalspecError, NotFoundError
from localspec.store.disk import no_space
from localspec.store.halffile import size_of

_POLL_S = 0.1
_OPTIONS = (
    "--no-input",
    "--quiet",
    "--disable-pip-version-check",
    "--no-color",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--progress-bar=off",
)


def download_wheel(requirement: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Download the wheel of `requirement` into `folder`, which is empty, and return its path.

    Args:
        report: called every tenth of a second with the bytes so far; what it raises stops pip.

    Raises:
        NotFoundError: no index pip knows has it.
        OutOfResourcesError: the disk is full.
        LocalspecError: pip failed otherwise; its own last line is the reason.
    """
    temporary, wheels, errors = folder / "tmp", folder / "whl", folder / "stderr.txt"
    temporary.mkdir()
    # pip's temporary files belong to the same disk, and must go when a killed pull is cleaned up.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    # -P: a pip.py in the current folder is not pip.
    command = [sys.executable, "-P", "-m", "pip", *_OPTIONS, f"--dest={wheels}", requirement]
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ) as process,
    ):
        try:
            while _is_running(process):
                report(_wheel_size(folder))
        except BaseException:
            process.kill()
            raise
    found = list(wheels.glob("*.whl"))
    if process.returncode or not found:
        raise _failure(requirement, errors.read_text(encoding="utf-8", errors="replace"), folder)
    return found[0]


def _wheel_size(folder: Path) -> int:
    """Bytes of the wheel so far. pip loads it into a temporary folder, then copies it."""
    # os.walk, since Path.rglob fails when pip removes a folder it is just looking into.
    sizes = [
        size_of(Path(root, name))
        for root, _, names in os.walk(folder)
        for name in names
        if name.endswith(".whl")
    ]
    return max(sizes, default=0)


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=_POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _failure(requirement: str, log: str, folder: Path) -> LocalspecError:
    lines = [line.removeprefix("ERROR: ").strip() for line in log.splitlines() if line.strip()]
    reason = lines[-1] if lines else "pip said nothing"
    if "No space left" in reason or "Errno 28" in reason:
        return no_space(folder)
    kind = NotFoundError if "No matching distribution" in reason else LocalspecError
    return kind(
        f"pip cannot fetch {requirement}: {reason}.",
        f"Try it by hand: {Path(sys.executable).name} -m pip download --no-deps {requirement}",
    )
