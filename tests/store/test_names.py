"""The right file of a repo is chosen, and never a projector, a drafter or half a split model."""

import pytest

from localspec.errors import NotFoundError, UsageError
from localspec.store.names import choose, choose_head, is_sidecar, quant_of, split_parts


@pytest.mark.parametrize(
    ("file", "quant"),
    [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("gemma-4-E2B-it-qat-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("model.i1-IQ3_XXS.gguf", "IQ3_XXS"),
        ("model-F16.gguf", "F16"),
        ("model-fp16.gguf", "F16"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("BF16/model-BF16-00001-of-00002.gguf", "BF16"),
        ("Q8_0/model.gguf", "Q8_0"),
        ("Qwen3-4B.gguf", None),
        ("q8bert.gguf", None),
    ],
)
def test_quantization_is_read_from_the_name(file: str, quant: str | None) -> None:
    assert quant_of(file) == quant


def test_all_parts_of_a_split_model_in_order() -> None:
    parts = tuple(f"m-{n:05}-of-00012.gguf" for n in range(1, 13))
    assert split_parts("m-00007-of-00012.gguf") == parts
    assert split_parts("m.gguf") == ("m.gguf",)
    assert split_parts("m-00009-of-00003.gguf") == ("m-00009-of-00003.gguf",)


@pytest.mark.parametrize(
    "file",
    [
        "mmproj-F16.gguf",
        "mtp-gemma-4-E2B-it.gguf",
        "gemmable-4-12b-Q4_K_M-mtp.gguf",
        "eagle3-x-F16.gguf",
        "dflash-x.gguf",
        "Qwen3-4B-DFlash.Q8_0.gguf",
        "model.imatrix.gguf",
        "MTP/gemma-Q8_0.gguf",
    ],
)
def test_files_beside_a_target_are_no_targets(file: str) -> None:
    assert is_sidecar(file)
    assert choose("org/name", [file, "model-Q2_K.gguf"], None) == "model-Q2_K.gguf"


@pytest.mark.parametrize(
    ("files", "head"),
    [
        (["mtp-m-F16.gguf", "mtp-m-Q8_0.gguf", "eagle3-m.gguf"], "mtp-m-Q8_0.gguf"),
        (["mmproj-F16.gguf", "MTP/m-Q4_0.gguf", "m.imatrix.gguf"], "MTP/m-Q4_0.gguf"),
        (["Qwen3-4B-DFlash.Q8_0.gguf", "notes-mtp.txt"], "Qwen3-4B-DFlash.Q8_0.gguf"),
        (["m-Q4_K_M-mtp.gguf"], "m-Q4_K_M-mtp.gguf"),
        (["m-MTP-Q4_K_M.gguf"], None),
        (["m-Q8_0.gguf"], None),
    ],
)
def test_a_repo_may_hold_a_head_for_its_target(files: list[str], head: str | None) -> None:
    assert choose_head([*files, "m-Q2_K.gguf"], "m-Q2_K.gguf") == head
    assert choose_head(files[:1], files[0]) is None


def test_a_target_is_no_sidecar() -> None:
    assert not is_sidecar("Qwen3.5-4B-UD-Q4_K_XL.gguf")
    assert not is_sidecar("emtpy-model-Q4_0.gguf")


def test_a_repo_of_drafters_only_offers_them() -> None:
    """Embedded heads are named so too: Qwopus3.5-9B-Coder-MTP-Q4_K_M.gguf is a whole model."""
    files = ["Q-MTP-Q4_K_M.gguf", "Q-MTP-Q8_0.gguf"]
    assert choose("org/name", files, "q8_0") == files[1]


_MANY = ["README.md", "m-Q8_0.gguf", "m-Q4_K_S.gguf", "m-Q4_K_M.gguf", "m-UD-Q3_K_XL.gguf"]


@pytest.mark.parametrize(
    ("quant", "file"),
    [
        (None, "m-Q4_K_M.gguf"),
        ("q8_0", "m-Q8_0.gguf"),
        ("Q3_K_XL", "m-UD-Q3_K_XL.gguf"),
    ],
)
def test_the_quantization_asked_for_or_the_preferred_one(quant: str | None, file: str) -> None:
    assert choose("org/name", _MANY, quant) == file


def test_without_a_known_quantization_the_only_file_is_it() -> None:
    assert choose("org/name", ["weird.gguf"], None) == "weird.gguf"


def test_a_quantization_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(NotFoundError, match="has Q4_K_M, Q4_K_S, Q8_0, UD-Q3_K_XL") as caught:
        choose("org/name", _MANY, "Q6_K")
    assert "org/name:Q4_K_M" in str(caught.value.hint)


def test_a_repo_without_gguf_says_so() -> None:
    with pytest.raises(NotFoundError, match="holds no GGUF"):
        choose("org/name", ["model.safetensors"], None)


def test_two_files_of_one_quantization_are_not_guessed_between() -> None:
    with pytest.raises(UsageError, match="several Q4_0") as caught:
        choose("org/name", ["a-Q4_0.gguf", "b-Q4_0.gguf"], "Q4_0")
    assert "org/name/a-Q4_0.gguf" in str(caught.value.hint)


def test_half_a_split_model_is_never_chosen() -> None:
    half = ["m-Q4_K_M-00001-of-00002.gguf", "m-Q8_0.gguf"]
    assert choose("org/name", half, None) == "m-Q8_0.gguf"
    whole = [*half, "m-Q4_K_M-00002-of-00002.gguf"]
    assert choose("org/name", whole, None) == half[0]
