"""The table of tensor types against the ggml library that will read the weights."""

import ctypes
from pathlib import Path

import llama_cpp

from localspec.store.ggml_types import TENSOR_TYPES


def test_every_type_has_the_size_ggml_gives_it() -> None:
    """A wrong or missing row would call a sound file truncated, or a truncated one sound."""
    folder = Path(llama_cpp.__file__).parent / "lib"
    ggml = ctypes.CDLL(str(next(path for path in folder.iterdir() if "ggml-base" in path.name)))
    ggml.ggml_type_size.restype = ctypes.c_size_t
    ggml.ggml_blck_size.restype = ctypes.c_int64
    ggml.ggml_type_name.restype = ctypes.c_char_p
    n_types = 43
    rows = {
        number: (
            ggml.ggml_type_name(number).decode().upper(),
            ggml.ggml_blck_size(number),
            ggml.ggml_type_size(number),
        )
        for number in range(n_types)
    }
    # a removed type has no size
    assert {number: row for number, row in rows.items() if row[2]} == TENSOR_TYPES
