"""Headers: what is read from sound files, and that no damaged one gets past or takes us down."""

import shutil
import struct
import time
from pathlib import Path

import gguf
import pytest

from localspec.errors import UnsupportedFileError
from localspec.store.header import read_header
from tests.store import gguf_bytes as raw
from tests.store.gguf_bytes import ARCHITECTURE, Bytes
from tests.tiny import CHATML, NAMES, TinyModels, Variant, Vocabulary, write


def test_reads_the_facts_of_a_model(tiny: TinyModels) -> None:
    """Guards against keys mixed up or read under the wrong prefix."""
    path = tiny("llama", Variant(n_ctx=4096))
    header = read_header(path)
    assert (header.architecture, header.name, header.kind) == ("llama", "tiny-llama", "model")
    assert (header.n_layers, header.n_embd, header.n_head, header.n_head_kv) == (2, 64, 4, 2)
    assert (header.context_length, header.quantization) == (4096, "F32")
    assert header.size_bytes == path.stat().st_size
    assert header.parts == (path,)
    assert (header.template, header.named_templates) == (CHATML, {})
    assert (header.sliding_window, header.pooling_type, header.nextn_predict_layers) == (
        None,
        None,
        0,
    )
    vocabulary = header.vocabulary
    assert vocabulary is not None
    assert (vocabulary.type, vocabulary.size) == ("BPE", 288)
    assert (vocabulary.bos, vocabulary.eos, vocabulary.add_bos) == (256, 257, False)
    assert vocabulary.texts()[65] == b"A"
    assert vocabulary.texts()[257] == b"<|im_end|>"


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_reader_of_the_gguf_package(tiny: TinyModels, name: str) -> None:
    """Guards the offsets, sizes and counts against an independent reader."""
    header = read_header(tiny(name))
    other = gguf.GGUFReader(tiny(name))
    assert header.tensors == {tensor.name for tensor in other.tensors}
    assert header.n_params == sum(int(tensor.n_elements) for tensor in other.tensors)
    for key, value in header.metadata.items():
        theirs = other.fields[key].contents()
        assert (tuple(theirs) if isinstance(theirs, list) else theirs) == value


def test_one_number_for_each_layer(tiny: TinyModels) -> None:
    """Guards against refusing hybrids, whose head counts are lists."""
    assert read_header(tiny("lfm2")).n_head_kv == (0, 2, 0, 2)


def test_sampling_advice_and_named_templates(tmp_path: Path) -> None:
    """Guards the newer keys that carry the maker's recommendations."""
    pairs = [
        ARCHITECTURE,
        raw.pair("general.sampling.temp", raw.F32, raw.number(raw.F32, 0.5)),
        raw.pair("general.sampling.sequence", raw.STRING, raw.text("top_k")),
        raw.pair("tokenizer.chat_template.tool_use", raw.STRING, raw.text("T")),
    ]
    header = read_header(_save(tmp_path, Bytes(pairs=pairs)))
    assert header.sampling == {"temp": 0.5}
    assert header.named_templates == {"tool_use": "T"}
    assert header.template is None


def test_quantization_of_a_file_that_states_none(tmp_path: Path) -> None:
    """The type of most weights counts, not that of the first tensor."""
    tensors = [raw.tensor("a", [32], 0), raw.tensor("b", [256, 8], 12, 128)]
    path = _save(tmp_path, Bytes(tensors=tensors, data=bytes(128 + 8 * 144)))
    assert read_header(path).quantization == "Q4_K"


def test_a_guessed_quantization_is_still_one(tmp_path: Path) -> None:
    """llama.cpp marks a guess with a bit beside the type's number."""
    kind = raw.pair("general.file_type", raw.U32, raw.number(raw.U32, 1024 + 15))
    path = _save(tmp_path, Bytes(pairs=[ARCHITECTURE, kind]))
    assert read_header(path).quantization == "Q4_K_M"


def test_empty_tokens_are_not_repeated_ones(tiny: TinyModels) -> None:
    """llama.cpp gives each its own name; refusing them would refuse sound files."""
    holes = Vocabulary(replaced=((260, ""), (261, "")))
    header = read_header(tiny("llama", Variant(vocabulary=holes)))
    assert header.vocabulary is not None
    assert header.vocabulary.texts()[260] == b"[EMPTY_260]"


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """A file's name for itself could otherwise clear the screen or fake output."""
    name = raw.pair("general.name", raw.STRING, raw.text("a\x1b[2Jb"))
    assert read_header(_save(tmp_path, Bytes(pairs=[ARCHITECTURE, name]))).name == "a[2Jb"


def test_invalid_utf8_in_a_value_is_shown_as_such(tmp_path: Path) -> None:
    """Guards against a UnicodeDecodeError."""
    name = raw.pair("general.name", raw.STRING, raw.text(b"caf\xe9"))
    assert read_header(_save(tmp_path, Bytes(pairs=[ARCHITECTURE, name]))).name == "caf\ufffd"


def test_version_2_is_read(tmp_path: Path) -> None:
    """llama.cpp reads it, so do we; its layout is that of version 3."""
    assert read_header(_save(tmp_path, Bytes(version=2))).version == 2


def test_default_tokens_are_those_of_llama_cpp(tiny: TinyModels) -> None:
    """A bos beyond the vocabulary counts as not stated: BPE then takes 11."""
    header = read_header(tiny("llama", Variant(vocabulary=Vocabulary(bos=999, add_bos=None))))
    assert header.vocabulary is not None
    assert (header.vocabulary.bos, header.vocabulary.add_bos) == (11, False)


@pytest.mark.parametrize(
    ("type_", "pre", "add_bos", "add_eos"),
    [
        ("gpt2", "qwen2", False, False),
        ("gpt2", "llama-bpe", True, False),
        ("llama", "default", True, False),
        ("gemma4", "", True, False),
        ("t5", "", False, True),
    ],
)
def test_what_is_added_where_the_file_does_not_say(
    tiny: TinyModels, type_: str, pre: str, add_bos: bool, add_eos: bool
) -> None:
    """Guards llama.cpp's defaults: two files may agree though one leaves the key out."""
    header = read_header(
        tiny("llama", Variant(vocabulary=Vocabulary(add_bos=None, type=type_, pre=pre)))
    )
    assert header.vocabulary is not None
    assert (header.vocabulary.add_bos, header.vocabulary.add_eos) == (add_bos, add_eos)


def test_parts_are_read_as_one(tmp_path: Path, tiny: TinyModels) -> None:
    """Guards sizes, tensors and the check that every part is there and whole."""
    parts = _split(tmp_path)
    header = read_header(parts[0])
    assert header.parts == tuple(parts)
    assert header.size_bytes == sum(part.stat().st_size for part in parts)
    assert header.tensors == {"a", "b", "c"}


def test_a_missing_or_half_part_is_found(tmp_path: Path) -> None:
    """The first part alone looks like a whole file; llama.cpp would fail late."""
    parts = _split(tmp_path)
    whole = parts[2].read_bytes()
    parts[2].write_bytes(whole[:-1])
    with pytest.raises(UnsupportedFileError, match=r"m-00003-of-00003\.gguf is truncated"):
        read_header(parts[0])
    parts[2].unlink()
    with pytest.raises(UnsupportedFileError, match=r"m-00003-of-00003\.gguf is missing"):
        read_header(parts[0])


def test_a_part_with_too_few_tensors_is_found(tmp_path: Path) -> None:
    """Each part whole by itself, but from another way of splitting."""
    parts = _split(tmp_path, n_tensors=4)
    with pytest.raises(UnsupportedFileError, match="3 of 4 tensors"):
        read_header(parts[0])


def test_another_part_than_the_first_is_named(tmp_path: Path) -> None:
    """llama.cpp wants the first one; the hint says which that is."""
    with pytest.raises(UnsupportedFileError, match="part 2 of 3") as raised:
        read_header(_split(tmp_path)[1])
    assert "m-00001-of-00003.gguf" in str(raised.value.hint)


def test_a_renamed_part_is_refused(tmp_path: Path) -> None:
    """llama.cpp finds the others by name only."""
    part = _split(tmp_path)[0].rename(tmp_path / "renamed.gguf")
    with pytest.raises(UnsupportedFileError, match="not named so"):
        read_header(part)


def test_a_part_of_another_model_is_refused(tmp_path: Path) -> None:
    """Same name, other content: its number gives it away."""
    parts = _split(tmp_path)
    shutil.copy(parts[2], parts[1])
    with pytest.raises(UnsupportedFileError, match="part of another model"):
        read_header(parts[0])


def test_large_vocabulary_is_read_quickly(tmp_path: Path) -> None:
    """The default model has 152,000 tokens; the `gguf` package takes seconds over them."""
    path = write(tmp_path / "large.gguf", "llama", Variant(vocabulary=Vocabulary(size=152_000)))
    started = time.perf_counter()
    header = read_header(path)
    assert time.perf_counter() - started < 1.0
    assert header.vocabulary is not None
    assert header.vocabulary.size == 152_000


def _split(folder: Path, n_tensors: int = 3) -> list[Path]:
    def short(key: str, value: int) -> bytes:
        return raw.pair(key, 2, struct.pack("<H", value))

    paths = [folder / f"m-{part:05}-of-00003.gguf" for part in (1, 2, 3)]
    for part, (path, tensor) in enumerate(zip(paths, "abc", strict=True)):
        pairs = [short("split.no", part), short("split.count", 3)]
        pairs.append(raw.pair("split.tensors.count", raw.I32, raw.number(raw.I32, n_tensors)))
        if part == 0:
            pairs.append(ARCHITECTURE)
        content = Bytes(pairs=pairs, tensors=[raw.tensor(tensor, [8])], data=bytes(32))
        path.write_bytes(content.encode())
    return paths


def _save(folder: Path, content: Bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content.encode())
    return path
