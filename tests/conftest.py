"""Fixtures of all tests."""

import signal
from pathlib import Path

import pytest

from tests.tiny import TinyModels, Variant, write

# A job in the background has Ctrl-C or a hang-up ignored, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """`tiny(name, variant=None)`: path of a tiny model, written once a session.

    The files are shared by all tests: copy one before you change it.
    """
    folder = tmp_path_factory.mktemp("tiny")
    written: dict[tuple[str, Variant], Path] = {}

    def path(name: str, variant: Variant | None = None) -> Path:
        key = (name, variant or Variant())
        if key not in written:
            # a folder each: drafters are looked for beside their target
            place = folder / str(len(written))
            place.mkdir()
            written[key] = write(place / f"{name}.gguf", name, variant)
        return written[key]

    return path
