"""Damaged files: each is named for what it is, and none takes us down."""

import struct
import sys
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.store.header import Header, read_header
from tests.store import gguf_bytes as raw
from tests.store.gguf_bytes import ARCHITECTURE, Bytes
from tests.tiny import TinyModels


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged file and what the error must speak of."""

    content: bytes
    says: str


def _with(*pairs: bytes, **changed: object) -> bytes:
    return Bytes(pairs=[ARCHITECTURE, *pairs], **changed).encode()  # type: ignore[arg-type]


def _array(kind: int, count: int) -> bytes:
    return raw.pair("x", raw.ARRAY, struct.pack("<IQ", kind, count))


HUGE = 1 << 60
TOKENIZER = raw.pair("tokenizer.ggml.model", raw.STRING, raw.text("gpt2"))
DAMAGED = {
    "empty": Damaged(b"", "is empty"),
    "two-bytes": Damaged(b"GG", "not a GGUF"),
    "text": Damaged(b"hello, world", "not a GGUF"),
    "web-page": Damaged(b"<!DOCTYPE html><p>404", "web page"),
    "lfs-pointer": Damaged(b"version https://git-lfs", "Git LFS pointer"),
    "magic-only": Damaged(b"GGUF", "cut off"),
    "big-endian": Damaged(b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
    "version-0": Damaged(Bytes(version=0).encode(), "version 0"),
    "version-1": Damaged(Bytes(version=1).encode(), "version 1"),
    "version-9": Damaged(Bytes(version=9).encode(), "version 9"),
    "2^50-keys": Damaged(Bytes(n_pairs=1 << 50).encode(), "1125899906842624 keys"),
    "2^50-tensors": Damaged(Bytes(n_tensors=1 << 50).encode(), "1125899906842624 tensors"),
    "65000-keys": Damaged(Bytes(n_pairs=65_000).encode(), "is damaged"),
    "long-key": Damaged(_with(struct.pack("<Q", HUGE)), "a key is 1152921504606846976 bytes"),
    "empty-key": Damaged(_with(raw.pair("", raw.U8, b"\1")), "a key is 0 bytes"),
    "key-no-utf8": Damaged(_with(raw.pair(b"\xff", raw.U8, b"\1")), "is not text"),
    "long-string": Damaged(
        _with(raw.pair("x", raw.STRING, struct.pack("<Q", HUGE))), "cut off or its header is wrong"
    ),
    "duplicate-key": Damaged(_with(ARCHITECTURE), "there twice"),
    "value-type": Damaged(_with(raw.pair("x", 77, b"\0" * 8)), "unknown type 77"),
    "nested-array": Damaged(_with(_array(raw.ARRAY, 1)), "unknown type 9"),
    "long-array": Damaged(_with(_array(raw.U64, HUGE)), "cut off or its header is wrong"),
    "many-strings": Damaged(_with(_array(raw.STRING, HUGE)), "strings"),
    "string-past-end": Damaged(
        _with(_array(raw.STRING, 2) + struct.pack("<Q", HUGE)), "x is cut off"
    ),
    "alignment-0": Damaged(
        _with(raw.pair("general.alignment", raw.U32, raw.number(raw.U32, 0))), "alignment"
    ),
    "alignment-48": Damaged(
        _with(raw.pair("general.alignment", raw.U32, raw.number(raw.U32, 48))), "alignment"
    ),
    "alignment-text": Damaged(
        _with(raw.pair("general.alignment", raw.STRING, raw.text("32"))), "alignment"
    ),
    "no-architecture": Damaged(Bytes(pairs=[]).encode(), "no architecture"),
    "architecture-number": Damaged(
        Bytes(pairs=[raw.pair("general.architecture", raw.U8, b"\1")]).encode(), "not a text"
    ),
    "context-text": Damaged(
        _with(raw.pair("llama.context_length", raw.STRING, raw.text("8k"))), "whole number"
    ),
    "context-negative": Damaged(
        _with(raw.pair("llama.context_length", raw.I32, raw.number(raw.I32, -1))), "negative"
    ),
    "tokens-numbers": Damaged(
        _with(
            TOKENIZER,
            raw.pair("tokenizer.ggml.tokens", raw.ARRAY, struct.pack("<IQ", raw.U8, 1) + b"\1"),
        ),
        "no texts",
    ),
    "token-twice": Damaged(
        _with(TOKENIZER, raw.texts("tokenizer.ggml.tokens", [b"a", b"b", b"a"])), "token twice"
    ),
    "tensor-twice": Damaged(
        _with(tensors=[raw.tensor("t", [8]), raw.tensor("t", [8], offset=32)], data=bytes(64)),
        "there twice",
    ),
    "1000-dims": Damaged(_with(tensors=[raw.tensor("t", [1] * 1000)]), "1000 dimensions"),
    "dims-overflow": Damaged(_with(tensors=[raw.tensor("t", [1 << 40, 1 << 40])]), "large"),
    "dims-negative": Damaged(_with(tensors=[raw.tensor("t", [(1 << 64) - 1, 0])]), "large"),
    "tensor-type": Damaged(_with(tensors=[raw.tensor("t", [8], 99)]), "unknown type 99"),
    "removed-type": Damaged(_with(tensors=[raw.tensor("t", [8], 4)]), "unknown type 4"),
    "odd-row": Damaged(_with(tensors=[raw.tensor("t", [33], 2)]), "multiple of 32"),
    "offset": Damaged(_with(tensors=[raw.tensor("t", [8], 0, 64)], data=bytes(128)), "starts at"),
    "long-tensor-name": Damaged(_with(tensors=[raw.tensor("t" * 64, [8])]), "64 bytes"),
    "weights-cut": Damaged(_with(tensors=[raw.tensor("t", [8])], data=bytes(31)), "truncated"),
    "weights-missing": Damaged(_with(tensors=[raw.tensor("t", [1 << 40])]), "truncated"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_named(tmp_path: Path, name: str) -> None:
    """Each of these would otherwise be a traceback, a full memory or an abort in llama.cpp."""
    damaged = DAMAGED[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(damaged.content)
    with pytest.raises(UnsupportedFileError, match=r"model\.gguf") as raised:
        read_header(path)
    assert damaged.says in raised.value.message
    assert raised.value.hint is not None
    assert "localspec pull" in raised.value.hint


def test_truncated_anywhere(tmp_path: Path, tiny: TinyModels) -> None:
    """A half file must never pass for a whole one, wherever the download stopped."""
    whole = tiny("llama").read_bytes()
    path = tmp_path / "half.gguf"
    for length in [*range(0, 6000, 97), *range(6000, len(whole), 9973), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(UnsupportedFileError):
            read_header(path)


def test_truncated_weights_say_how_much_is_here(tmp_path: Path, tiny: TinyModels) -> None:
    """The sentence tells a broken download from a broken file."""
    whole = tiny("llama").read_bytes()
    path = tmp_path / "half.gguf"
    path.write_bytes(whole[:-100])
    with pytest.raises(UnsupportedFileError) as raised:
        read_header(path)
    assert f"truncated: {len(whole) - 100} of {len(whole)} bytes" in raised.value.message


def test_not_a_file(tmp_path: Path) -> None:
    """Guards against IsADirectoryError and FileNotFoundError reaching the user."""
    with pytest.raises(UnsupportedFileError, match="folder"):
        read_header(tmp_path)
    with pytest.raises(NotFoundError, match="There is no file"):
        read_header(tmp_path / "nothing.gguf")
    with pytest.raises(NotFoundError):
        read_header(tmp_path / "nothing.gguf" / "deeper.gguf")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no device files in the tree")
def test_a_device_is_not_read() -> None:
    """/dev/zero would be read for ever."""
    with pytest.raises(UnsupportedFileError, match="not a regular file"):
        read_header(Path("/dev/zero"))


@settings(max_examples=300, deadline=2000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_damage_is_an_error_or_a_header(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, tiny: TinyModels
) -> None:
    """Whatever bytes are changed, cut or put in, nothing else may come out, and soon."""
    content = bytearray(tiny(data.draw(st.sampled_from(["llama", "lfm2"]))).read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(content) - 1, 8000)))
        put = data.draw(
            st.one_of(
                st.binary(min_size=1, max_size=8),
                st.integers(0, 2**64 - 1).map(lambda n: struct.pack("<Q", n)),
                st.sampled_from([b"\xff" * 8, b"\0" * 8, struct.pack("<Q", 1 << 40)]),
            )
        )
        content[at : at + data.draw(st.integers(0, len(put)))] = put
    path = tmp_path_factory.mktemp("fuzz") / "m.gguf"
    # a sparse tail stands for the weights, so that damage to the header alone can be a header
    with path.open("wb") as file:
        file.write(content)
        file.truncate(2_000_000)
    tracemalloc.start()
    try:
        assert isinstance(read_header(path), Header)
    except UnsupportedFileError as error:
        assert error.message.isprintable()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        path.unlink()
    assert peak < 64 << 20


def test_hostile_header_takes_bounded_time(tmp_path: Path) -> None:
    """Millions of empty strings, or an array larger than any header: over within seconds."""
    path = tmp_path / "sparse.gguf"
    with path.open("wb") as file:
        file.write(Bytes(pairs=[ARCHITECTURE, _array(raw.STRING, 1 << 22)]).encode())
        file.truncate(1 << 28)
    started = time.perf_counter()
    assert read_header(path).tensors == frozenset()
    path.write_bytes(Bytes(pairs=[_array(raw.U8, 200 << 20)]).encode())
    with path.open("ab") as file:
        file.truncate(1 << 28)
    with pytest.raises(UnsupportedFileError, match="larger than 128 MB"):
        read_header(path)
    assert time.perf_counter() - started < 20
