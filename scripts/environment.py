"""The virtual environment that the scripts share: `.venv` in the checkout, or $LOCALSPEC_VENV.

Standard library only, since it runs before anything is installed.
"""

# An old Python too must get as far as being told that it is too old.
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
INTERRUPTED = 130
COMPILER = """Installing failed: the reason stands above. To compile llama.cpp a C++ compiler is needed.
  Debian, Ubuntu: apt install build-essential    Fedora: dnf install gcc-c++
  macOS: xcode-select --install                  Windows: the Visual Studio Build Tools"""


def folder() -> Path:
    """Where the environment is, or will be."""
    chosen = os.environ.get("LOCALSPEC_VENV")
    # absolute, since commands run in the checkout, wherever the script was started
    return Path(chosen).expanduser().absolute() if chosen else ROOT / ".venv"


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
    state = _state()
    if _is_installed(extra, state):
        return
    if not _has_pip():
        say(f"Making a virtual environment in {folder()}")
        run([sys.executable, "-m", "venv", str(folder())])
    say(
        "Installing localspec. llama.cpp is compiled for this machine the first time: some minutes."
    )
    os.environ.setdefault("CMAKE_ARGS", "-DLLAVA_BUILD=OFF")
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    # As an option, since PIP_CONSTRAINT would reach into the isolated builds too.
    install = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    code = call([*install, "-c", str(ROOT / "constraints.txt"), "-e", what])
    if code:
        sys.exit(code if code == INTERRUPTED else COMPILER)
    _stamp(extra).write_text(state, encoding="utf-8")


def call(command: list[str]) -> int:
    """Run a command in the checkout and give its exit code; 130 if Ctrl-C made it fail."""
    interrupted = False
    # Not subprocess.call, which kills the command soon after Ctrl-C: it got that too, and may
    # want to end in its own way.
    with subprocess.Popen(command, cwd=ROOT) as child:
        while child.poll() is None:
            try:
                child.wait()
            except KeyboardInterrupt:
                interrupted = True
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return INTERRUPTED if interrupted and code else code


def run(command: list[str]) -> None:
    """Run a command in the checkout and leave with its exit code if it fails."""
    code = call(command)
    if code:
        sys.exit(code)


def say(line: str) -> None:
    """One line about what happens."""
    print(f"» {line}" if _speaks_utf8() else f"> {line}", file=sys.stderr, flush=True)


def _speaks_utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


def _state() -> str:
    """Changes when the environment has to be brought up to date."""
    told = hashlib.sha256(str(ROOT).encode())
    for name in ("pyproject.toml", "constraints.txt"):
        told.update((ROOT / name).read_bytes())
    return told.hexdigest()


def _stamp(extra: str) -> Path:
    return folder() / f"localspec-installed{'-' + extra if extra else ''}"


def _is_installed(extra: str, state: str) -> bool:
    # an environment with any extra does for those who need none
    stamps = [_stamp(extra)] if extra else folder().glob("localspec-installed*")
    current = any(p.is_file() and p.read_text(encoding="utf-8") == state for p in stamps)
    return current and Path(python()).exists()


def _has_pip() -> bool:
    """False too for what is left of an environment whose making failed half-way."""
    if not Path(python()).exists():
        return False
    asked = [python(), "-m", "pip", "--version"]
    quiet = subprocess.DEVNULL
    return subprocess.call(asked, stdout=quiet, stderr=quiet) == 0
