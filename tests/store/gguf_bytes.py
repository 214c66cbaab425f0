"""GGUF files by hand, byte by byte, so that a test can put anything into one."""

import struct
from dataclasses import dataclass, field

U8, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 5, 6, 7, 8, 9, 10
_LETTERS = {U8: "B", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q"}


def text(value: str | bytes) -> bytes:
    """A string as GGUF stores it."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def number(kind: int, value: float) -> bytes:
    """A number of that value type."""
    return struct.pack("<" + _LETTERS[kind], value)


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    """A key-value pair; `value` is already encoded."""
    return text(key) + struct.pack("<I", kind) + value


def texts(key: str, values: list[bytes]) -> bytes:
    """A key with an array of strings."""
    body = b"".join(text(value) for value in values)
    return pair(key, ARRAY, struct.pack("<IQ", STRING, len(values)) + body)


def tensor(name: str, dims: list[int], kind: int = 0, offset: int = 0) -> bytes:
    """An entry of the tensor list."""
    shape = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
    return text(name) + shape + struct.pack("<IQ", kind, offset)


ARCHITECTURE = pair("general.architecture", STRING, text("llama"))


@dataclass(slots=True)
class Bytes:
    """A file in the making; the counts follow from the lists unless a test sets them."""

    pairs: list[bytes] = field(default_factory=lambda: [ARCHITECTURE])
    tensors: list[bytes] = field(default_factory=list)
    data: bytes = b""
    magic: bytes = b"GGUF"
    version: int = 3
    n_pairs: int | None = None
    n_tensors: int | None = None

    def encode(self) -> bytes:
        """The whole file."""
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_pairs = len(self.pairs) if self.n_pairs is None else self.n_pairs
        head = self.magic + struct.pack("<IQQ", self.version, n_tensors, n_pairs)
        head += b"".join(self.pairs) + b"".join(self.tensors)
        return head + b"\0" * (-len(head) % 32) + self.data
