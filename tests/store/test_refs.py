"""What the user types is understood, or refused with a sentence that helps."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.store.refs import (
    HubFile,
    HubRepo,
    LocalFile,
    ModelRef,
    RecipeName,
    StoredFile,
    parse_ref,
)

_PART2 = "org/name/big-00002-of-00003.gguf"


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("smollm2-135m", RecipeName("smollm2-135m")),
        ("  qwen2.5-coder-1.5b ", RecipeName("qwen2.5-coder-1.5b")),
        ("Qwen/Qwen3-8B-GGUF", HubRepo("Qwen/Qwen3-8B-GGUF")),
        ("org/name:Q4_K_M", HubRepo("org/name", "Q4_K_M")),
        ("org/name:ud-q4_k_xl", HubRepo("org/name", "ud-q4_k_xl")),
        ("org/name/file.gguf", HubFile("org/name", "file.gguf")),
        ("org/name/sub/dir/File.GGUF", HubFile("org/name", "sub/dir/File.GGUF")),
        (_PART2, HubFile("org/name", "big-00001-of-00003.gguf")),
        ("model.gguf", StoredFile("model.gguf")),
        ("My model (v2).GGUF", StoredFile("My model (v2).GGUF")),
        ("x" * 300 + ".gguf", StoredFile("x" * 300 + ".gguf")),
    ],
)
def test_names_are_told_apart(text: str, ref: ModelRef) -> None:
    assert parse_ref(text) == ref


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("", UsageError, "empty"),
        ("  ", UsageError, "empty"),
        ("models/model.gguf", NotFoundError, "no file"),
        ("./model", NotFoundError, "no file"),
        ("../model", NotFoundError, "no file"),
        ("~/model", NotFoundError, "no file"),
        ("~nobody-of-that-name/model", NotFoundError, "no file"),
        ("/nowhere/model.gguf", NotFoundError, "no file"),
        (r"C:\models\model.gguf", NotFoundError, "no file"),
        ("C:/models/model.gguf", NotFoundError, "no file"),
        (r"models\model", NotFoundError, "no file"),
        ("org/name:", UsageError, "no quantization"),
        ("org/name:Q4 K", UsageError, "no quantization"),
        ("qwen:Q4_K_M", UsageError, "names no model"),
        ("org/name/file.bin", UsageError, "no GGUF file"),
        ("org/name/../file.gguf", UsageError, "no GGUF file"),
        ("org//file.gguf", UsageError, "names no model"),
        ("org/na me", UsageError, "names no model"),
        ("org/-name", UsageError, "names no model"),
        ("https://huggingface.co/org/name", UsageError, "without a web address"),
        ("x" * 5000, None, ""),
        ("./" + "x" * 300 + ".gguf", NotFoundError, "no file"),
    ],
)
def test_what_names_nothing_is_refused(
    text: str, kind: type[LocalspecError] | None, words: str
) -> None:
    """Also names too long for the file system: they raise OSError where not guarded."""
    if kind is None:
        assert parse_ref(text) == RecipeName(text)
        return
    with pytest.raises(kind, match=words) as caught:
        parse_ref(text)
    assert caught.value.hint


def test_the_hint_turns_an_address_into_what_to_type() -> None:
    with pytest.raises(UsageError) as caught:
        parse_ref("https://huggingface.co/org/name/blob/main/sub/file.gguf?download=true")
    assert caught.value.hint == "Type org/name/sub/file.gguf instead."


def test_an_existing_file_wins_over_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("recipe", "org/name", "org/name2:Q4_K_M", "a b.gguf"):
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"GGUF")
        assert parse_ref(name) == LocalFile(path)
    assert parse_ref("~/recipe") == LocalFile(tmp_path / "recipe")


def test_a_folder_does_not_hide_a_recipe_or_a_repo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("org/name").mkdir(parents=True)
    assert parse_ref("org") == RecipeName("org")
    assert parse_ref("org/name") == HubRepo("org/name")
    Path("org/name/a.gguf").write_bytes(b"GGUF")
    with pytest.raises(NotFoundError, match="is a folder") as caught:
        parse_ref("./org/name")
    assert "a.gguf" in str(caught.value.hint)


def test_a_device_is_there_but_no_file() -> None:
    with pytest.raises(NotFoundError, match="not a regular file"):
        parse_ref(os.devnull)


def test_any_part_of_a_local_split_model_means_the_first(tmp_path: Path) -> None:
    """llama.cpp opens a split model by its first part only."""
    first, second = (tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2))
    second.write_bytes(b"GGUF")
    with pytest.raises(NotFoundError, match="not beside it"):
        parse_ref(str(second))
    first.write_bytes(b"GGUF")
    assert parse_ref(str(second)) == LocalFile(first)


@given(st.text(max_size=80))
def test_any_text_is_a_reference_or_one_of_our_errors(text: str) -> None:
    try:
        ref = parse_ref(text)
    except LocalspecError as error:
        assert error.message and error.hint
    else:
        assert isinstance(ref, LocalFile | HubFile | HubRepo | RecipeName | StoredFile)


_SEGMENT = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._]{0,20}[A-Za-z0-9])?", fullmatch=True)


@given(_SEGMENT, _SEGMENT, st.sampled_from(["Q4_K_M", "q8_0", "BF16"]))
def test_every_repo_with_a_quantization_keeps_both(org: str, name: str, quant: str) -> None:
    if ".." not in org + name and not name.lower().endswith(".gguf"):
        assert parse_ref(f"{org}/{name}:{quant}") == HubRepo(f"{org}/{name}", quant)
