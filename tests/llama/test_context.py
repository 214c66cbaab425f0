"""The llama layer against the real library: rows, memory kinds, refusals with llama.cpp's reason."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.batch import Batch
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.llama import memory
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.memory import MemoryPlan, WindowMemory, plan_memory
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import plan_numerics
from localspec.params import Threads
from tests.engine.running import opened, settings
from tests.tiny import TinyModels

TOKENS = list(b"The quick brown fox jumps over the lazy dog, again and again and again.")
F32 = frozenset({"F32"})


def rows_of(context: LlamaContext, tokens: list[int], step: int, start: int = 0) -> np.ndarray:
    """Logits after each token, decoded `step` at a time."""
    rows = []
    for i in range(0, len(tokens), step):
        batch = Batch()
        part = tokens[i : i + step]
        batch.add(part, start + i, 0, len(part))
        rows.append(context.decode(batch).copy())
    return np.concatenate(rows)


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "gemma3", "gemma4"])
def test_exact_rows_do_not_depend_on_their_neighbours(tiny: TinyModels, name: str) -> None:
    """To the last bit: a row alone, in twos, in fives and in tens; also past the window of 32."""
    with opened(tiny(name)) as context:
        alone = rows_of(context, TOKENS, 1)
        for step in (2, 3, 5, 10):
            context.memory.drop(0)
            assert np.array_equal(rows_of(context, TOKENS, step), alone)


def test_fast_float_rows_do_depend_on_them(tiny: TinyModels) -> None:
    """Guards the test above: without filling up, the difference is there to be seen."""
    numerics = replace(plan_numerics("exact", F32), min_rows=1)
    with (
        LlamaModel(tiny("gemma4"), use_extra_bufts=False) as model,
        LlamaContext(model, ContextSettings(256, 1, 64, 8, Threads(1, 1), numerics)) as context,
    ):
        alone = rows_of(context, TOKENS, 1)
        context.memory.drop(0)
        assert not np.array_equal(rows_of(context, TOKENS, 4), alone)


def test_rollback_leaves_no_trace(tiny: TinyModels) -> None:
    for name in ("llama", "gemma3", "gemma4"):
        with opened(tiny(name)) as context:
            expected = rows_of(context, TOKENS, 5)
            context.memory.drop(0)
            rows_of(context, TOKENS[:40], 5)
            rows_of(context, [1, 2, 3, 4], 4, start=40)
            assert context.memory.keep(0, 40) == 0
            found = rows_of(context, TOKENS[40:], 5, start=40)
            assert np.array_equal(found, expected[40:])


def test_window_that_has_moved_on_is_read_again(tiny: TinyModels) -> None:
    """llama_memory_seq_rm says True here and the logits would silently be wrong."""
    text = TOKENS * 8
    with opened(tiny("gemma3")) as context:
        assert isinstance(context.memory, WindowMemory)
        rows_of(context, text, 8)
        again = context.memory.keep(0, 60)
        assert again == 60
        found = rows_of(context, text[:80], 8)
    with opened(tiny("gemma3")) as fresh:
        assert np.array_equal(found, rows_of(fresh, text[:80], 8))


def test_recurrent_memory_never_pretends(tiny: TinyModels) -> None:
    """What has no tail to cut is forgotten whole, and the engine is told how much to read again."""
    with opened(tiny("mamba")) as context:
        rows_of(context, TOKENS, 8)
        assert context.memory.keep(0, 20) == 20


def test_fork_and_drop(tiny: TinyModels) -> None:
    with opened(tiny("llama"), n_seq_max=2) as context:
        expected = rows_of(context, TOKENS, 8)[-1]
        context.memory.keep(0, 40)
        context.memory.fork(0, 1)
        batch = Batch()
        batch.add(TOKENS[40:], 40, 1, 1)
        assert np.allclose(context.decode(batch)[0], expected, atol=1e-3)
        context.memory.drop(1)
        batch = Batch()
        batch.add(TOKENS[:3], 0, 1, 1)
        context.decode(batch)


def test_too_many_tokens_or_rows_are_refused_before_llama_cpp_aborts(tiny: TinyModels) -> None:
    with opened(tiny("llama"), n_batch=16) as context:
        batch = Batch()
        batch.add(TOKENS[:17], 0, 0, 1)
        with pytest.raises(ValueError, match="pass of at most 16"):
            context.decode(batch)
        batch = Batch()
        batch.add(TOKENS[:12], 0, 0, 12)
        with pytest.raises(ValueError, match="output rows"):
            context.decode(batch)
        batch = Batch()
        rows_of(context, TOKENS[:3], 3)
        batch.add(TOKENS[:3], 7, 0, 1)
        with pytest.raises(LocalspecError, match="could not run a pass"):
            context.decode(batch)
        context.memory.drop(0)
        rows_of(context, TOKENS[:8], 8)


def test_a_refused_file_carries_llama_cpps_reason(tiny: TinyModels, tmp_path: Path) -> None:
    data = tiny("llama").read_bytes().replace(b"llama.block_count", b"llama.blork_count")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(data)
    with pytest.raises(UnsupportedFileError, match="block_count"):
        LlamaModel(broken, use_extra_bufts=False)


def test_closing_twice_is_harmless(tiny: TinyModels) -> None:
    with opened(tiny("llama")) as context:
        context.close()


def test_loading_reports_progress(tiny: TinyModels) -> None:
    seen: list[float] = []
    with LlamaModel(tiny("llama"), use_extra_bufts=False, on_progress=seen.append) as model:
        assert seen[-1] == pytest.approx(1.0)
        assert model.n_ctx_train == 2048
        assert model.vocab.n_tokens == 288


@pytest.mark.parametrize(
    ("name", "copies", "again"),
    [("lfm2", False, 0), ("lfm2", True, 2), ("falcon-h1", False, 2), ("mamba", False, 2)],
)
def test_state_goes_back_into_a_draft(
    tiny: TinyModels, name: str, copies: bool, again: int
) -> None:
    """With the last states kept, to any token; with a copy, to where the draft began."""
    with opened(tiny(name), copies=copies) as context:
        rows_of(context, TOKENS[:40], 8)
        context.memory.mark(0)
        rows_of(context, [*TOKENS[40:42], 1, 2, 3], 5, start=40)
        assert context.memory.keep(0, 42) == again
        start = 42 - again
        found = rows_of(context, TOKENS[start:], 5, start=start)[again:]
        # nothing further back than the last pass
        assert context.memory.keep(0, 20) == 20
        expected = rows_of(context, TOKENS, 5)[42:]
    assert np.allclose(found, expected, atol=1e-4)


def test_a_copy_is_dropped_with_its_sequence(tiny: TinyModels) -> None:
    with opened(tiny("mamba"), n_seq_max=2) as context:
        rows_of(context, TOKENS[:8], 8)
        context.memory.mark(0)
        context.memory.drop(0)
        rows_of(context, TOKENS[:3], 3)
        assert context.memory.keep(0, 2) == 2, "the mark is that of another text"


@pytest.mark.parametrize("name", ["lfm2", "qwen35"])
def test_last_states_are_those_of_the_last_pass(tiny: TinyModels, name: str) -> None:
    """llama.cpp goes back further without a word, to a state that is another one."""
    path = tiny(name)
    with opened(path) as context:
        expected = rows_of(context, TOKENS[:12], 6)[-1].copy()
    with opened(path) as context:
        rows_of(context, TOKENS[:8], 8)
        for i in range(8, 12):
            rows_of(context, TOKENS[i : i + 1], 1, start=i)
        assert context.memory.keep(0, 12) == 0
        assert context.memory.keep(0, 9) == 9, "the last pass had one token"
        rows_of(context, TOKENS[:8], 8)
        rows_of(context, TOKENS[8:14], 6, start=8)
        assert context.memory.keep(0, 11) == 0
        assert np.allclose(rows_of(context, TOKENS[11:12], 1, start=11)[-1], expected, atol=1e-4)


@pytest.mark.parametrize("n_ctx", [16, 17, 20])
def test_last_states_fit_a_small_context(tiny: TinyModels, n_ctx: int) -> None:
    """llama.cpp ends the process where they do not fit a micro-batch."""
    with LlamaModel(tiny("lfm2"), use_extra_bufts=False) as model:
        how = replace(settings(model, n_ctx=n_ctx), n_batch=256, n_draft=16)
        with LlamaContext(model, how) as context:
            assert rows_of(context, TOKENS[:12], 6).shape[0] == 12
            assert context.memory.keep(0, 9) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there only")
def test_a_name_that_is_no_text_can_be_loaded(tiny: TinyModels, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"mtp-\xff.gguf")
    shutil.copy(tiny("llama"), path)
    with LlamaModel(path, use_extra_bufts=False) as model:
        assert model.vocab.n_tokens == 288


def test_a_plan_fits_the_memory() -> None:
    """Beside a window or other sequences last states are not enough; where nothing is drafted none are kept."""

    def plan(name: str, n_swa: int = 0, n_draft: int = 4, n_seq_max: int = 1) -> MemoryPlan:
        return plan_memory(
            name, keeps_state=True, n_swa=n_swa, n_draft=n_draft, n_seq_max=n_seq_max
        )

    assert plan("lfm2") == MemoryPlan(n_last_states=4)
    assert plan("lfm2", n_swa=32) == MemoryPlan(32, copies=True)
    assert plan("lfm2", n_seq_max=2) == MemoryPlan(copies=True)
    assert plan("mamba") == MemoryPlan(copies=True)
    assert plan("mamba").n_sequences(3) == 6
    assert plan("mamba", n_draft=0) == MemoryPlan()


def test_a_llama_cpp_that_keeps_no_states_gets_copies(
    tiny: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing when it is asked for what it cannot do."""
    monkeypatch.setattr(memory, "KEEPS_LAST_STATES", frozenset({"falcon-h1"}))
    with opened(tiny("falcon-h1")) as context:
        assert isinstance(context.memory, memory.CopiedMemory)
        rows_of(context, TOKENS[:8], 8)
        context.memory.mark(0)
        rows_of(context, TOKENS[8:12], 4, start=8)
        assert context.memory.keep(0, 10) == 2
