"""What was learned of a pair on this machine, kept for the next start.

Small JSON files for each pair of files and way of running them, under the state directory: what a
depth policy learned, and the threads that tuning chose. They may vanish or be damaged at any time:
then learning starts afresh, and nothing else changes. The text never depends on them, only the speed.
"""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from localspec import paths
from localspec.params import Threads

_VERSION = 2
_MOST_BYTES = 256 * 1024

MOST_THREADS = 512
"""llama.cpp's own bound (GGML_MAX_N_THREADS)."""


@dataclass(frozen=True, slots=True)
class ProfileKey:
    """What the costs of a pair depend on.

    Attributes:
        target: name and size of the target's file.
        drafter: the same of the drafter's; empty for none.
        device: where it runs.
        n_cores: cores that may be used.
        threads: CPU threads of a pass; None in the key of the choice itself.
        numerics: "exact" or "fast".
        backend: version of llama.cpp's binding.
    """

    target: str
    drafter: str
    device: str
    n_cores: int
    threads: Threads | None
    numerics: str
    backend: str

    @property
    def path(self) -> Path:
        """Where the profile lies, or would."""
        digest = hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]
        return paths.state_dir() / "profiles" / f"{digest}.json"


def file_key(path: Path | None) -> str:
    """A file by name and size: quick to know, and the same after it was moved."""
    return "" if path is None else f"{path.name} {path.stat().st_size}"


def load_profile(key: ProfileKey) -> dict[str, Any] | None:
    """What was kept for a pair; None if there is nothing, or nothing that can be read."""
    policy = _read(key).get("policy")
    return policy if isinstance(policy, dict) else None


def save_profile(key: ProfileKey, policy: dict[str, Any]) -> None:
    """Keep what was learned; where nothing can be written nothing is kept."""
    _write(key, {"policy": policy})


def load_threads(key: ProfileKey) -> Threads | None:
    """The threads that tuning chose for a pair, whatever threads the key names; None if it did not."""
    kept = _read(replace(key, threads=None)).get("threads")
    if not isinstance(kept, dict):
        return None
    counts = (kept.get("decode"), kept.get("verify"))
    match counts:
        case (int(decode), int(verify)) if 1 <= decode <= MOST_THREADS >= verify >= 1:
            return Threads(decode, verify)
        case _:
            return None


def save_threads(key: ProfileKey, threads: Threads) -> bool:
    """Keep the threads that tuning chose; False where nothing can be written."""
    return _write(replace(key, threads=None), {"threads": asdict(threads)})


def _read(key: ProfileKey) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        # opening a pipe would wait for whoever writes into it
        if not key.path.is_file():
            return {}
        with key.path.open("rb") as file:
            kept = json.loads(file.read(_MOST_BYTES))
        if isinstance(kept, dict) and kept.get("version") == _VERSION:
            return kept
    return {}


def _write(key: ProfileKey, record: dict[str, Any]) -> bool:
    """Write beside the old file and put it in its place: a kill, or another process, leaves one whole."""
    record = {"version": _VERSION, "key": asdict(key), **record}
    path = key.path
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(record, file)
            Path(part).replace(path)
        except OSError:
            Path(part).unlink(missing_ok=True)
            return False
        return True
    return False
