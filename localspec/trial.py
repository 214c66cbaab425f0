"""The first pass of a file that was never run here, in a process of its own.

A file can be whole and of a known kind and still end llama.cpp: a tensor of a type that a product does
not take, a number that an assertion deep in the graph forbids, a tensor that is not there. There is no
call that asks beforehand, and an abort takes the process with it. So a process that may be lost goes
first, once for each file, way of running and version of llama.cpp.
"""

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from localspec import paths
from localspec.batch import Batch
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.library import library
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import plan_numerics
from localspec.llama.threads import usable_cores
from localspec.params import Numerics, Threads
from localspec.store.architectures import require_runnable
from localspec.store.header import read_header

_REFUSED = 10
"""The child's exit code where the file is refused in an orderly way: that will be said again."""

_PASSES = (1, 5, 1)
"""Rows of the passes that are tried."""

_N_CTX = 64
_LEAST_S, _BYTES_A_SECOND = 30.0, 50e6
"""Time for a trial: for a hard disk to read the file, and some more."""


def require_trial(path: Path, numerics: Numerics | None, n_threads: int | None = None) -> None:
    """Let the file be run elsewhere before it is run here; at once where it was before.

    Args:
        path: a model file whose header was not looked at yet.
        numerics: as it will be run, see `plan_numerics`.
        n_threads: CPU threads; None for one a core.

    Raises:
        UnsupportedFileError: llama.cpp crashes on it, or never ends.
    """
    mark = _mark(path, numerics)
    if mark.is_file():
        return
    # -P: files in the current folder must not stand in for modules
    command = [sys.executable, "-P", "-m", "localspec.trial", str(path), numerics or ""]
    seconds = _LEAST_S + path.stat().st_size / _BYTES_A_SECOND
    try:
        done = subprocess.run(
            [*command, str(n_threads or usable_cores())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnsupportedFileError(
            f"{path.name} cannot be run: llama.cpp did not get through a few tokens of it in"
            f" {seconds:.0f} seconds.",
            _HINT,
        ) from None
    if done.returncode not in (0, _REFUSED):
        raise UnsupportedFileError(
            f"{path.name} cannot be run: llama.cpp crashes on it ({_reason(done)}).", _HINT
        )
    if done.returncode == 0:
        with suppress(OSError):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


_HINT = "Pull it again, or try another quantization of the same model"


def _mark(path: Path, numerics: Numerics | None) -> Path:
    """The empty file that says this one went well."""
    stat = path.stat()
    facts = (path.resolve(), stat.st_size, stat.st_mtime_ns, numerics, library().version)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return paths.state_dir() / "trials" / digest


def _reason(done: "subprocess.CompletedProcess[bytes]") -> str:
    """llama.cpp's last words, else how the process ended."""
    lines = [line.strip() for line in done.stderr.decode(errors="replace").splitlines()]
    for line in lines:
        if "GGML_ASSERT" in line or "GGML_ABORT" in line or "fatal error" in line:
            # the part before is the place in its source
            return line.partition(": ")[2] or line
    code = done.returncode
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _attempt(path: Path, numerics: Numerics | None, n_threads: int) -> None:
    """What the child does."""
    header = read_header(path)
    require_runnable(header)
    plan = plan_numerics(numerics, header.products)
    settings = ContextSettings(_N_CTX, 1, _N_CTX, 8, Threads(n_threads, n_threads), plan)
    with (
        LlamaModel(path, use_extra_bufts=plan.use_extra_bufts) as model,
        LlamaContext(model, settings) as context,
    ):
        position = 0
        for n_rows in _PASSES:
            batch = Batch()
            batch.add([position % context.n_vocab] * n_rows, position, 0, n_rows)
            context.decode(batch)
            position += n_rows


def _main() -> None:
    path, numerics, n_threads = sys.argv[1:]
    chosen: Numerics | None = None
    if numerics:
        chosen = "exact" if numerics == "exact" else "fast"
    try:
        _attempt(Path(path), chosen, int(n_threads))
    except (LocalspecError, OSError, MemoryError):
        sys.exit(_REFUSED)
    # freeing what is left is the system's business, and one more place to crash
    os._exit(0)


if __name__ == "__main__":
    _main()
