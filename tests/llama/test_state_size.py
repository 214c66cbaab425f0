"""What a header says of the size of a state is what llama.cpp keeps."""

import llama_cpp
import pytest

from localspec.batch import Batch
from localspec.store.header import read_header
from localspec.store.recurrent import state_bytes
from tests.engine.running import opened
from tests.tiny import TinyModels

_STATE_ONLY = 1
"""LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY"""

_FRAME_BYTES = 300
"""What llama.cpp writes around a state."""


@pytest.mark.parametrize("name", ["qwen35", "lfm2", "falcon-h1", "mamba"])
def test_size_of_a_state(tiny: TinyModels, name: str) -> None:
    path = tiny(name)
    with opened(path) as context:
        batch = Batch()
        batch.add([1, 2, 3], 0, 0, 0)
        context.decode(batch)
        kept = llama_cpp.llama_state_seq_get_size_ext(context.handle, 0, _STATE_ONLY)
    said = state_bytes(read_header(path))
    assert said <= kept <= said + _FRAME_BYTES


@pytest.mark.parametrize("name", ["llama", "gemma4"])
def test_attention_has_none(tiny: TinyModels, name: str) -> None:
    assert state_bytes(read_header(tiny(name))) == 0
