"""Values over which llama.cpp aborts the process: they must be errors before it sees them."""

import pytest

from localspec.errors import UnsupportedFileError
from localspec.store.header import read_header
from tests.tiny import TinyModels, Variant
from tests.tiny.model import Value


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("block_count", 0, "0 layers"),
        ("block_count", 600, "600 layers"),
        ("nextn_predict_layers", 3, "3 of its 2 layers are MTP"),
        ("expert_count", 2000, "2000 experts"),
        ("expert_used_count", 3, "3 of 0 experts"),
        ("expert_group_count", 2, "groups"),
        ("rope.scaling.type", "x", "rope scaling"),
        ("rope.dimension_count", 15, "rotates 15 dimensions"),
        ("rope.dimension_count", 18, "rotates 18 dimensions"),
        ("attention.sliding_window", 1 << 31, "sliding window"),
        ("context_length", 1 << 31, "tokens of context"),
        ("attention.layer_norm_rms_epsilon", float("nan"), "epsilon is nan"),
        ("attention.layer_norm_rms_epsilon", -1.0, "epsilon is -1.0"),
    ],
)
def test_values_llama_cpp_aborts_over(tiny: TinyModels, key: str, value: Value, says: str) -> None:
    """Each was seen to end the process with SIGABRT while the model was loaded or decoded."""
    with pytest.raises(UnsupportedFileError) as raised:
        read_header(tiny("llama", Variant(metadata=((key, value),))))
    assert says in raised.value.message


@pytest.mark.parametrize(
    "metadata",
    [
        (("expert_count", 8), ("expert_used_count", 2)),
        (
            ("expert_count", 8),
            ("expert_used_count", 2),
            ("expert_group_count", 4),
            ("expert_group_used_count", 2),
        ),
        (("rope.scaling.type", "yarn"),),
        (("rope.dimension_count", 8),),
    ],
)
def test_sound_values_pass(tiny: TinyModels, metadata: tuple[tuple[str, Value], ...]) -> None:
    """Guards against refusing mixtures of experts and partial rotation."""
    read_header(tiny("llama", Variant(metadata=metadata)))
