"""What was learned of a pair on this machine, kept for the next start.

One small JSON file for each pair of files and way of running them, under the state directory. It may
vanish or be damaged at any time: then learning starts afresh, and nothing else changes. The
text never depends on it, only the speed.
"""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localspec import paths

_VERSION = 1
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class ProfileKey:
    """What the costs of a pair depend on.

    Attributes:
        target: name and size of the target's file.
        drafter: the same of the drafter's; empty for none.
        device: where it runs.
        n_threads: CPU threads.
        numerics: "exact" or "fast".
        backend: version of llama.cpp's binding.
    """

    target: str
    drafter: str
    device: str
    n_threads: int
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
    with suppress(OSError, ValueError, RecursionError):
        with key.path.open("rb") as file:
            kept = json.loads(file.read(_MOST_BYTES))
        if isinstance(kept, dict) and kept.get("version") == _VERSION:
            policy = kept.get("policy")
            return policy if isinstance(policy, dict) else None
    return None


def save_profile(key: ProfileKey, policy: dict[str, Any]) -> None:
    """Keep what was learned. Written beside the old file and put in its place, so that a kill or another
    process leaves one whole file; where nothing can be written nothing is kept."""
    record = {"version": _VERSION, "key": asdict(key), "policy": policy}
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
