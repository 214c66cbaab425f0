"""What was learned survives a restart, and a damaged file is as good as none."""

import json
import os
from pathlib import Path

import llama_cpp
import pytest

from localspec import paths
from localspec.engine.margin import MarginDepth
from localspec.pair import choose, located
from localspec.params import DepthParams, SamplingParams, Threads
from localspec.profile import (
    ProfileKey,
    load_profile,
    load_threads,
    save_profile,
    save_threads,
)
from localspec.runtime import Runtime, Wishes
from localspec.session import AnswerLimits, Session
from tests.tiny import TinyModels, Variant

TWO = Threads(2, 2)
KEY = ProfileKey("a.gguf 1", "", "CPU", 2, TWO, "exact", "1")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))


def opened(tiny: TinyModels, *, profile: bool = True, depth: int | None = None) -> Runtime:
    pair = located(choose(str(tiny("llama")), str(tiny("llama", Variant(eps=0.05)))))
    return Runtime(pair, Wishes(DepthParams(depth), n_ctx=512, profile=profile))


def profiles() -> list[Path]:
    return sorted((paths.state_dir() / "profiles").glob("*"))


def answer(runtime: Runtime) -> str:
    talk = Session(runtime, SamplingParams(temperature=0.0), AnswerLimits(60))
    list(talk.complete("The quick brown fox"))
    assert talk.last is not None
    return talk.last.text


def test_the_next_start_begins_with_what_was_learned(tiny: TinyModels) -> None:
    with opened(tiny) as runtime:
        first = answer(runtime)
        learned = runtime.engine.depth
        assert isinstance(learned, MarginDepth)
        state = json.loads(json.dumps(learned.state()))
    assert len(profiles()) == 1
    with opened(tiny) as runtime:
        policy = runtime.engine.depth
        assert isinstance(policy, MarginDepth)
        assert policy.cost.measured
        kept = json.loads(json.dumps(policy.state()))
        assert kept["cost"]["passes"] == state["cost"]["passes"]
        assert kept["calibrations"] == state["calibrations"]
        assert kept["outlooks"] == state["outlooks"] != {}
        assert answer(runtime) == first


def test_without_a_profile_nothing_is_read_or_written(tiny: TinyModels) -> None:
    with opened(tiny, profile=False) as runtime:
        answer(runtime)
    assert not profiles()
    with opened(tiny, depth=2) as runtime:
        answer(runtime)
    assert not profiles(), "a fixed depth learns nothing"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1]",
        b'{"version": 99, "policy": {}}',
        b'{"version": 2, "policy": 3}',
        b'{"version": 2, "policy": {"cost": {"passes": {"0": {"1": "x"}}}}}',
        b'{"version": 2, "policy": {"speedup": 1, "cost": {"bucket": 0, "passes": {"0": {"1": NaN}},'
        b' "levels": {}, "reading": {}}, "calibrations": {}, "outlooks": {}}}',
        b'{"version": 2, "policy": {"speedup": 1, "cost": {"bucket": 0, "passes": {"0": {"1": -1}},'
        b' "levels": {}, "reading": {}}, "calibrations": {}, "outlooks": {}}}',
        b'{"version": 2, "policy": {"speedup": 0, "cost": {"bucket": 0, "passes": {"0": {"0": 1}},'
        b' "levels": {}, "reading": {}}, "calibrations": {}, "outlooks": {}}}',
        b'{"version": 2, "policy": {"speedup": 1, "cost": {"bucket": Infinity, "passes": {"0": {"1": 1}},'
        b' "levels": {}, "reading": {}}, "calibrations": {}, "outlooks": {}}}',
        b'{"version": 2, "policy": {"speedup": 1, "cost": {"bucket": 0, "passes": {"0": {"1": 1}},'
        b' "levels": {}, "reading": {}}, "calibrations": {},'
        b' "outlooks": {"a": {"shares": [[1]], "tests": [1]}}}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_profile_is_ignored(tiny: TinyModels, content: bytes) -> None:
    with opened(tiny) as runtime:
        first = answer(runtime)
    (path,) = profiles()
    path.write_bytes(content)
    with opened(tiny) as runtime:
        policy = runtime.engine.depth
        assert isinstance(policy, MarginDepth)
        assert not policy.cost.measured
        assert answer(runtime) == first
    assert load_profile(runtime.profile_key) is not None, "and replaced by a whole one"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_a_profile_is_not_waited_for(tiny: TinyModels) -> None:
    with opened(tiny) as runtime:
        answer(runtime)
    for path in profiles():
        path.unlink()
        os.mkfifo(path)
    with opened(tiny) as runtime:
        assert answer(runtime)


def test_a_place_that_cannot_be_written_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = paths.state_dir()
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file where the directory should be")
    save_profile(KEY, {"a": 1})
    assert load_profile(KEY) is None


def test_writing_leaves_nothing_else_behind() -> None:
    save_profile(KEY, {"a": 1})
    save_profile(KEY, {"a": 2})
    assert load_profile(KEY) == {"a": 2}
    assert len(profiles()) == 1


def test_another_way_of_running_has_a_profile_of_its_own() -> None:
    others = [
        ProfileKey("a.gguf 2", "", "CPU", 2, TWO, "exact", "1"),
        ProfileKey("a.gguf 1", "b.gguf 1", "CPU", 2, TWO, "exact", "1"),
        ProfileKey("a.gguf 1", "", "GPU", 2, TWO, "exact", "1"),
        ProfileKey("a.gguf 1", "", "CPU", 4, TWO, "exact", "1"),
        ProfileKey("a.gguf 1", "", "CPU", 2, Threads(2, 1), "exact", "1"),
        ProfileKey("a.gguf 1", "", "CPU", 2, TWO, "fast", "1"),
        ProfileKey("a.gguf 1", "", "CPU", 2, TWO, "exact", "2"),
    ]
    assert len({key.path for key in [KEY, *others]}) == 8


def test_chosen_threads_are_used_by_the_next_start(tiny: TinyModels) -> None:
    with opened(tiny) as runtime:
        usual, key = runtime.threads, runtime.profile_key
    assert save_threads(key, Threads(3, 1))
    with opened(tiny) as runtime:
        assert runtime.threads == Threads(3, 1) != usual
        assert runtime.profile_key.path != key.path
        handle = runtime.engine.target.handle  # type: ignore[attr-defined]
        assert llama_cpp.llama_n_threads(handle) == 3
        assert llama_cpp.llama_n_threads_batch(handle) == 1
    with opened(tiny, profile=False) as runtime:
        assert runtime.threads == usual


@pytest.mark.parametrize(
    "kept",
    [None, {}, [2, 2], {"decode": 2}, {"decode": 0, "verify": 2}, {"decode": 2, "verify": 9999}],
)
def test_damaged_threads_are_as_good_as_none(kept: object) -> None:
    assert save_threads(KEY, Threads(2, 1))
    (path,) = profiles()
    record = json.loads(path.read_text())
    assert load_threads(KEY) == Threads(2, 1)
    path.write_text(json.dumps(record | {"threads": kept}))
    assert load_threads(KEY) is None
