"""What drafters and drafts cost in memory, as llama.cpp itself counts it."""

import re
from dataclasses import replace

import pytest

from localspec.llama.context import LlamaContext
from localspec.llama.heads import HeadContext
from localspec.llama.library import library
from localspec.llama.model import LlamaModel
from tests.engine.running import opening, settings
from tests.tiny import TinyModels

_CACHE = re.compile(r"llama_kv_cache: .* KV buffer size")
_STATES = re.compile(r"llama_memory_recurrent: size\s*=\s*([\d.]+) MiB \(\s*(\d+) cells")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What llama.cpp says since the last call."""
    monkeypatch.setattr(library(), "verbose", True)
    return lambda: capsys.readouterr().err


def test_a_guest_adds_no_keys_and_values(tiny: TinyModels, log) -> None:
    """The head of its own kind beside it shows that the log would tell."""
    with (
        LlamaModel(tiny("gemma4"), use_extra_bufts=False) as model,
        LlamaModel(tiny("gemma4-assistant"), use_extra_bufts=False, load_mtp=True) as guest,
        opening(model) as target,
    ):
        assert _CACHE.search(log())
        with HeadContext(guest, settings(guest), target) as context:
            assert context.shares_memory
            assert not _CACHE.search(log())
    with (
        LlamaModel(tiny("qwen35"), use_extra_bufts=False, load_mtp=True) as model,
        opening(model) as target,
    ):
        log()
        with HeadContext(model, settings(model), target):
            assert _CACHE.search(log())


def test_a_copied_state_costs_two_cells_a_sequence(tiny: TinyModels, log) -> None:
    for n_seq_max in (1, 3):
        with _opened_model(tiny, "mamba") as model, opening(model, n_seq_max=n_seq_max):
            found = _STATES.search(log())
            assert found
            assert int(found[2]) == 2 * n_seq_max


def test_plain_decoding_costs_one(tiny: TinyModels, log) -> None:
    with (
        _opened_model(tiny, "mamba") as model,
        LlamaContext(model, replace(settings(model), n_draft=0)),
    ):
        found = _STATES.search(log())
        assert found
        assert int(found[2]) == 1


def _opened_model(tiny: TinyModels, name: str) -> LlamaModel:
    return LlamaModel(tiny(name), use_extra_bufts=False)
