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
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from localspec import paths
from localspec.batch import Batch
from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import NoDraftError
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.errors import LocalspecError, OutOfResourcesError, UnsupportedFileError
from localspec.heads import open_head
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.library import library
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import NumericsPlan, plan_numerics
from localspec.llama.threads import usable_cores
from localspec.pair import LocalPair
from localspec.params import Numerics, SamplingParams, Threads
from localspec.store.architectures import require_runnable, sidecar_kind
from localspec.store.header import Header, read_header
from localspec.store.mending import overrides
from localspec.store.pairing import can_draft_itself, check_pair

_REFUSED, _ENDLESS, _NO_DRAFT = 10, 11, 12
"""The child's exit codes where the file is refused in an orderly way, which will be said again, where its time
is up, and where a head computes no numbers. It ends itself, since its parent may be killed."""

_SIGKILL = 9
_ABORTED = 3
"""Exit code of abort() on Windows; crashes there are above the second."""
_WINDOWS_CRASH = 0x80000000

_PASSES = (1, 5, 1)
"""Rows of the passes that are tried."""

_N_CTX = 64
_DRAFT, _ANSWER = 4, 12
_LEAST_S, _BYTES_A_SECOND = 30.0, 50e6
"""Time for a trial: for a hard disk to read the file, and some more."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried.

    Attributes:
        path: a model file.
        head: the file of a head beside it; the same file for one of its own; None for none.
    """

    path: Path
    head: Path | None = None

    @property
    def newest(self) -> Path:
        """The file that is to blame if it fails: a head beside a model that was tried before, or that."""
        return self.head or self.path


def trials(pair: LocalPair) -> list[Trial]:
    """What must have been tried before a pair is opened.

    Raises:
        UnsupportedFileError: a file is damaged.
    """
    if pair.drafter is None:
        own = pair.kind in ("auto", "mtp") and can_draft_itself(read_header(pair.target))
        return [Trial(pair.target, pair.target if own else None)]
    if sidecar_kind(read_header(pair.drafter)):
        return [Trial(pair.target), Trial(pair.target, pair.drafter)]
    return [Trial(pair.target), Trial(pair.drafter)]


def was_tried(trial: Trial, numerics: Numerics | None) -> bool:
    """True if the file was run here before, in this way and by this version of llama.cpp."""
    return _mark(trial, numerics).is_file()


def require_trial(trial: Trial, numerics: Numerics | None, n_threads: int | None = None) -> None:
    """Let a file be run elsewhere before it is run here.

    Args:
        trial: the file, and the head that drafts for it.
        numerics: as it will be run, see `plan_numerics`.
        n_threads: CPU threads; None for one a core.

    Raises:
        UnsupportedFileError: llama.cpp crashes on it, or never ends, or it is a head that computes no numbers.
        OutOfResourcesError: the system ended it.
    """
    path = trial.newest
    hint = _HINT if trial.head is None else _HINT_FOR_HEAD
    seconds = _LEAST_S + trial.path.stat().st_size / _BYTES_A_SECOND
    # -P: files in the current folder must not stand in for modules
    command = [
        sys.executable,
        "-P",
        "-m",
        "localspec.trial",
        str(trial.path),
        str(trial.head or ""),
    ]
    done = subprocess.run(
        [*command, numerics or "", str(n_threads or usable_cores()), str(seconds)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode == _ENDLESS:
        raise UnsupportedFileError(
            f"{path.name} cannot be run: llama.cpp did not get through a few tokens of it in"
            f" {seconds:.0f} seconds.",
            hint,
        )
    if done.returncode == _NO_DRAFT:
        raise UnsupportedFileError(
            f"{path.name} cannot draft: what it computes is not numbers (NaN).", hint
        )
    if done.returncode == -_SIGKILL:
        raise OutOfResourcesError(
            f"The system ended a trial run of {path.name}: memory is not enough for it.",
            "Close other programs, or take a smaller quantization",
        )
    if _crashed(done.returncode):
        raise UnsupportedFileError(
            f"{path.name} cannot be run: llama.cpp crashes on it ({_reason(done)}).", hint
        )
    if done.returncode == 0:
        mark = _mark(trial, numerics)
        with suppress(OSError):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


_HINT = (
    "Its maker's fault, if it came whole: try another quantization, or the file of another maker"
)
_HINT_FOR_HEAD = "Answer without it: -d lookup"


def _mark(trial: Trial, numerics: Numerics | None) -> Path:
    """The empty file that says this one went well."""
    files = [trial.path, *([trial.head] if trial.head else [])]
    stats = [(path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    facts = (stats, numerics, library().version)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return paths.state_dir() / "trials" / digest


def _crashed(code: int) -> bool:
    if sys.platform == "win32":
        return code == _ABORTED or code >= _WINDOWS_CRASH
    return code < 0


def _reason(done: "subprocess.CompletedProcess[bytes]") -> str:
    """llama.cpp's last words, else how the process ended."""
    lines = [line.strip() for line in done.stderr.decode(errors="replace").splitlines()]
    for line in lines:
        if "GGML_ASSERT" in line or "GGML_ABORT" in line or "fatal error" in line:
            # the part before is the place in its source
            return line.partition(": ")[2] or line
    code = done.returncode
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _attempt(path: Path, head: Path | None, numerics: Numerics | None, n_threads: int) -> None:
    """What the child does."""
    header = read_header(path)
    require_runnable(header)
    beside = read_header(head) if head is not None and head != path else None
    if beside is not None:
        check_pair(header, beside)
    plan = plan_numerics(numerics, header.products)
    settings = ContextSettings(_N_CTX, 1, _N_CTX, 8, Threads(n_threads, n_threads), plan, _DRAFT)
    with ExitStack() as stack:
        model = stack.enter_context(_loaded(header, plan, load_mtp=head == path))
        context = stack.enter_context(LlamaContext(model, settings))
        position = 0
        for n_rows in _PASSES:
            batch = Batch()
            batch.add([position % context.n_vocab] * n_rows, position, 0, n_rows)
            context.decode(batch)
            position += n_rows
        context.memory.drop(0)
        if beside is not None:
            holder = stack.enter_context(_loaded(beside, plan, load_mtp=True))
            _draft(context, holder, settings, beside)
        elif head is not None:
            _draft(context, model, settings, header)


def _loaded(header: Header, plan: NumericsPlan, *, load_mtp: bool) -> LlamaModel:
    return LlamaModel(
        header.path,
        use_extra_bufts=plan.use_extra_bufts,
        load_mtp=load_mtp,
        overrides=overrides(header),
    )


def _draft(
    context: LlamaContext, model: LlamaModel, settings: ContextSettings, header: Header
) -> None:
    """Have a head draft for a target, and take its drafts back."""
    opened, drafter = open_head(
        sidecar_kind(header) or "mtp", model, settings, context, header.tensors
    )
    with opened:
        engine = Engine(context, [drafter], FixedDepth(_DRAFT), frozenset())
        engine.open([0, 1, 2], Sampler(SamplingParams(temperature=0.0)), _ANSWER)
        while engine.active:
            engine.step()


def _main() -> None:
    path, head, numerics, n_threads, seconds = sys.argv[1:]
    clock = threading.Timer(float(seconds), os._exit, [_ENDLESS])
    clock.daemon = True
    clock.start()
    chosen: Numerics | None = None
    if numerics:
        chosen = "exact" if numerics == "exact" else "fast"
    try:
        _attempt(Path(path), Path(head) if head else None, chosen, int(n_threads))
    except NoDraftError:
        os._exit(_NO_DRAFT)
    except (LocalspecError, OSError, MemoryError):
        os._exit(_REFUSED)
    # freeing what is left is the system's business, and one more place to crash
    os._exit(0)


if __name__ == "__main__":
    _main()
