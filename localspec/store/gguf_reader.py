"""The GGUF container: key-value pairs and the list of tensors, read without the weights.

Format: `docs/gguf.md` and `ggml/src/gguf.cpp` of ggml; what that reader refuses is refused here
too, with a sentence a user understands. Nothing in a file is believed: counts and lengths are
held against the bytes that are really there before anything is allocated, so reading takes
bounded time and memory whatever the file says. What the keys mean is the business of
`header.py`, which this file hands a `GgufFile`.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.store.ggml_types import TENSOR_TYPES

PULL_AGAIN: Final = "Fetch it again: localspec pull NAME"

MAX_HEADER_BYTES: Final = 128 << 20
MAX_KEYS: Final = 1 << 16
MAX_TENSORS: Final = 100_000
MAX_STRINGS: Final = 1 << 22
"""Limits many times those of the largest models known (12 MB, 70 keys, 46,000 tensors, 515,000
merges), so that a hostile file costs a few seconds at most."""

MAX_KEY_BYTES: Final = 65_535
MAX_TENSOR_NAME_BYTES: Final = 63
MAX_DIMS: Final = 4
DEFAULT_ALIGNMENT: Final = 32

_CHUNK: Final = 1 << 20
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
_NUMBERS: Final[dict[int, str]] = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
"""Value type -> its struct letter."""

_OTHER_FORMATS: Final[dict[bytes, str]] = {
    b"vers": "a Git LFS pointer, not the file itself",
    b"<!DO": "a web page",
    b"<!do": "a web page",
    b"<htm": "a web page",
    b"PK\x03\x04": "a PyTorch or zip file",
    b"ggjt": "a model in a format older than GGUF",
    b"ggml": "a model in a format older than GGUF",
    b"ggmf": "a model in a format older than GGUF",
}


@dataclass(frozen=True, slots=True)
class Array:
    """An array as it lies in the file, decoded when asked.

    Attributes:
        type: number of the elements' value type.
        count: how many.
        raw: their bytes; strings each behind their length (8 bytes, little-endian).
    """

    type: int
    count: int
    raw: bytes

    @property
    def of_strings(self) -> bool:
        """True if the elements are strings, False if they are numbers or booleans."""
        return self.type == _STRING

    def numbers(self) -> tuple[int | float | bool, ...]:
        """The elements of an array that is not `of_strings`."""
        return struct.unpack(f"<{self.count}{_NUMBERS[self.type]}", self.raw)

    def strings(self) -> Iterator[bytes]:
        """The elements of an array `of_strings`, not decoded."""
        at, raw = 0, self.raw
        for _ in range(self.count):
            (length,) = _U64.unpack_from(raw, at)
            at += 8
            yield raw[at : at + length]
            at += length


Value = int | float | bool | str | Array


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the tensor list: name, type, dimensions, elements and bytes."""

    name: str
    type: str
    n_dims: int
    n_elements: int
    n_bytes: int
    offset: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What one file says before its weights."""

    path: Path
    version: int
    size_bytes: int
    fields: dict[str, Value]
    tensors: tuple[Tensor, ...]


class Damage(Exception):
    """What is wrong with a file, as the end of the sentence "FILE is damaged: …"."""


def read_gguf(path: Path) -> GgufFile:
    """Read one file's keys and tensor list.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedFileError: not a GGUF, of a version or byte order that llama.cpp cannot read,
            damaged, truncated (in the header or in the weights), or not readable.
    """
    try:
        if path.is_dir():
            raise UnsupportedFileError(
                f"{path} is a folder, not a GGUF file.", "Name a .gguf file in it."
            )
        if path.exists() and not path.is_file():
            raise UnsupportedFileError(f"{path} is not a regular file.", "Name a .gguf file.")
        with path.open("rb") as file:
            return _read(file, path)
    except FileNotFoundError as error:
        hint = "See what is here: localspec models"
        raise NotFoundError(f"There is no file {path}.", hint) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnsupportedFileError(
            f"{path} cannot be read: {reason}.", "Check the path and its permissions."
        ) from error
    except Damage as damage:
        raise UnsupportedFileError(f"{path.name} is damaged: {damage}.", PULL_AGAIN) from damage


def _read(file: BinaryIO, path: Path) -> GgufFile:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    cursor = _Cursor(file, size)
    version = _version(cursor, path)
    n_tensors, n_keys = cursor.u64(), cursor.u64()
    if n_keys > MAX_KEYS:
        raise Damage(f"it announces {n_keys} keys")
    if n_tensors > MAX_TENSORS:
        raise Damage(f"it announces {n_tensors} tensors")
    fields: dict[str, Value] = {}
    for _ in range(n_keys):
        key = cursor.name("a key", MAX_KEY_BYTES)
        if key in fields:
            raise Damage(f"the key {key} is there twice")
        fields[key] = cursor.value(key)
    alignment = _alignment(fields)
    tensors = _tensors(cursor, n_tensors, alignment)
    data = -(-cursor.at // alignment) * alignment
    needed = data + tensors[-1].offset + tensors[-1].n_bytes if tensors else cursor.at
    if needed > size:
        raise UnsupportedFileError(
            f"{path.name} is truncated: {size} of {needed} bytes are here.", PULL_AGAIN
        )
    return GgufFile(path, version, size, fields, tensors)


def _version(cursor: "_Cursor", path: Path) -> int:
    if cursor.size == 0:
        raise UnsupportedFileError(f"{path.name} is empty.", PULL_AGAIN)
    magic = cursor.take(min(4, cursor.size))
    if magic != b"GGUF":
        what = _OTHER_FORMATS.get(magic)
        raise UnsupportedFileError(
            f"{path.name} is not a GGUF file" + (f": it is {what}." if what else "."),
            "localspec runs GGUF models: localspec pull NAME",
        )
    version = cursor.u32()
    if version and version & 0xFFFF == 0:
        raise UnsupportedFileError(
            f"{path.name} is a big-endian GGUF file; only little-endian ones can be run here.",
            "Fetch the usual, little-endian file of this model: localspec pull NAME",
        )
    if version not in (2, 3):
        raise UnsupportedFileError(
            f"{path.name} is GGUF version {version}; versions 2 and 3 can be read.", PULL_AGAIN
        )
    return version


def _alignment(fields: dict[str, Value]) -> int:
    alignment = fields.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
        raise Damage("general.alignment is not a power of two")
    return alignment


def _tensors(cursor: "_Cursor", n_tensors: int, alignment: int) -> tuple[Tensor, ...]:
    tensors: dict[str, Tensor] = {}
    expected = 0
    for _ in range(n_tensors):
        name = cursor.name("a tensor's name", MAX_TENSOR_NAME_BYTES)
        if name in tensors:
            raise Damage(f"the tensor {name} is there twice")
        n_dims = cursor.u32()
        if n_dims > MAX_DIMS:
            raise Damage(f"the tensor {name} has {n_dims} dimensions")
        dims = [cursor.u64() for _ in range(n_dims)] or [1]
        n_elements = 1
        for dim in dims:
            n_elements *= dim
        if max(dims) >= 1 << 63 or n_elements >= 1 << 63:
            raise Damage(f"the tensor {name} is absurdly large")
        type_number = cursor.u32()
        if type_number not in TENSOR_TYPES:
            raise Damage(f"the tensor {name} has the unknown type {type_number}")
        type_name, block, block_bytes = TENSOR_TYPES[type_number]
        if dims[0] % block:
            raise Damage(f"the rows of the tensor {name} are no multiple of {block}")
        offset = cursor.u64()
        if offset != expected:
            raise Damage(f"the tensor {name} starts at {offset} instead of {expected}")
        n_bytes = n_elements // block * block_bytes
        expected += -(-n_bytes // alignment) * alignment
        tensors[name] = Tensor(name, type_name, len(dims), n_elements, n_bytes, offset)
    return tuple(tensors.values())


class _Cursor:
    """A place in a file that is read in chunks, only as far as somebody asks."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.at = 0
        self.size = size
        self._file = file
        self._data = bytearray()

    def _need(self, end: int) -> None:
        """Have the file's bytes up to `end` in memory."""
        if end <= len(self._data):
            return
        if end > self.size:
            raise Damage(
                "it is cut off or its header is wrong: "
                f"{end - self.at} bytes announced, {self.size - self.at} left"
            )
        if end > MAX_HEADER_BYTES:
            raise Damage(f"its header is larger than {MAX_HEADER_BYTES >> 20} MB")
        # doubling keeps the number of reads small, and files with small headers cheap
        wanted = max(end - len(self._data), len(self._data), _CHUNK)
        self._data += self._file.read(wanted)
        if end > len(self._data):
            raise Damage("it became shorter while it was read")

    def take(self, count: int) -> bytes:
        self._need(self.at + count)
        taken = bytes(self._data[self.at : self.at + count])
        self.at += count
        return taken

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def name(self, what: str, limit: int) -> str:
        length = self.u64()
        if not 0 < length <= limit:
            raise Damage(f"{what} is {length} bytes long")
        try:
            name = self.take(length).decode()
        except UnicodeDecodeError as error:
            raise Damage(f"{what} is not text") from error
        if not name.isprintable():
            raise Damage(f"{what} is not text")
        return name

    def value(self, key: str) -> Value:
        kind = self.u32()
        if kind == _STRING:
            return self.take(self.u64()).decode(errors="replace")
        if kind == _ARRAY:
            return self._array(key)
        return self._number(kind, key)

    def _number(self, kind: int, key: str) -> int | float | bool:
        if kind not in _NUMBERS:
            raise Damage(f"the value of {key} has the unknown type {kind}")
        letter = _NUMBERS[kind]
        number: int | float | bool = struct.unpack(
            f"<{letter}", self.take(struct.calcsize(f"<{letter}"))
        )[0]
        return number

    def _array(self, key: str) -> Array:
        kind, count = self.u32(), self.u64()
        if kind == _STRING:
            return self._strings(key, count)
        if kind not in _NUMBERS:
            raise Damage(f"the elements of {key} have the unknown type {kind}")
        return Array(kind, count, self.take(count * struct.calcsize(f"<{_NUMBERS[kind]}")))

    def _strings(self, key: str, count: int) -> Array:
        if count > MAX_STRINGS:
            raise Damage(f"{key} announces {count} strings")
        start = at = self.at
        data, loaded, unpack = self._data, len(self._data), _U64.unpack_from
        for _ in range(count):
            if at + 8 > loaded:
                if at > self.size:
                    raise Damage(f"{key} is cut off, or its lengths are wrong")
                self.at = at
                self._need(at + 8)
                loaded = len(data)
            at += 8 + unpack(data, at)[0]
        self.at = start
        self._need(at)
        return Array(_STRING, count, self.take(at - start))
