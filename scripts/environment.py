"""The virtual environment that the scripts share: `.venv` in the checkout, or $LOCALSPEC_VENV.

Standard library only, since it runs before anything is installed.
"""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)


def folder() -> Path:
    """Where the environment is, or will be."""
    return Path(os.environ.get("LOCALSPEC_VENV") or ROOT / ".venv")


def python() -> str:
    """The interpreter in the environment."""
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return str(folder().joinpath(*inside))


def ready(extra: str = "") -> None:
    """Make the environment and install localspec into it; quick if nothing has changed since.

    Args:
        extra: name of the extra to install too.
    """
    if sys.version_info < OLDEST:
        sys.exit(
            f"localspec needs Python {OLDEST[0]}.{OLDEST[1]} or newer, this is {sys.version.split()[0]}."
        )
    stamp = folder() / f"installed{'-' + extra if extra else ''}"
    state = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    ).hexdigest()
    if stamp.is_file() and stamp.read_text() == state and Path(python()).exists():
        return
    if not Path(python()).exists():
        say(f"Making a virtual environment in {folder()}")
        venv.create(folder(), with_pip=True)
    say(
        "Installing localspec. llama.cpp is compiled for this machine the first time: some minutes."
    )
    os.environ.setdefault("CMAKE_ARGS", "-DLLAVA_BUILD=OFF")
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    # Constraints would reach into the isolated builds too, where they have no business.
    install = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*install, "-c", str(ROOT / "constraints.txt"), "-e", what])
    stamp.write_text(state)


def run(command: list[str]) -> None:
    """Run a command in the checkout and leave with its exit code if it fails."""
    code = subprocess.call(command, cwd=ROOT)
    if code:
        sys.exit(code)


def say(line: str) -> None:
    """One line about what happens."""
    print(f"» {line}" if _speaks_utf8() else f"> {line}", file=sys.stderr, flush=True)


def _speaks_utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
