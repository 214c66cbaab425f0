"""Files that end llama.cpp end a process that may be lost, and the user reads one sentence."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from localspec import paths, trial
from localspec.errors import UnsupportedFileError
from localspec.llama.library import library
from localspec.pair import choose, located
from localspec.trial import Trial, require_trial, trials, was_tried
from tests.tiny import TinyModel, TinyModels, Variant, build


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))


def whole_numbers(model: TinyModel) -> None:
    model.tensors["blk.0.attn_norm.weight"] = np.ones_like(
        model.tensors["blk.0.attn_norm.weight"], np.int32
    )


def without_a_bias(model: TinyModel) -> None:
    del model.tensors["blk.0.ssm_conv1d.bias"]


BROKEN: dict[str, tuple[str, Callable[[TinyModel], None], dict[str, int]]] = {
    "a tensor of another type": ("llama", whole_numbers, {}),
    "a tensor that is missing": ("falcon-h1", without_a_bias, {}),
    "a size that an assertion forbids": ("qwen35", lambda model: None, {"ssm.inner_size": 7}),
    "a division by zero": ("qwen35", lambda model: None, {"full_attention_interval": 0}),
}


def broken(tmp_path: Path, what: str) -> Path:
    name, spoil, metadata = BROKEN[what]
    model = build(name, Variant(metadata=tuple(metadata.items())))
    spoil(model)
    path = tmp_path / "broken.gguf"
    model.save(path)
    return path


def marks() -> list[Path]:
    return list((paths.state_dir() / "trials").glob("*"))


@pytest.mark.parametrize("what", BROKEN)
def test_a_crash_is_a_sentence(tmp_path: Path, what: str) -> None:
    with pytest.raises(
        UnsupportedFileError, match=r"broken\.gguf cannot be run: llama\.cpp crashes"
    ):
        require_trial(Trial(broken(tmp_path, what)), None, 1)
    assert marks() == []


def test_a_pass_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_LEAST_S", 3.0)
    path = tmp_path / "endless.gguf"
    build("qwen35", Variant(metadata=(("rope.dimension_count", 0),))).save(path)
    with pytest.raises(UnsupportedFileError, match="did not get through a few tokens"):
        require_trial(Trial(path), None, 1)


def test_a_trial_ends_though_its_parent_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "endless.gguf"
    build("qwen35", Variant(metadata=(("rope.dimension_count", 0),))).save(path)
    code = (
        "import sys; from pathlib import Path; from localspec import trial\n"
        "trial._LEAST_S = 4.0\n"
        "trial.require_trial(trial.Trial(Path(sys.argv[1])), None, 1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, path]) as parent:
        child = wait_for(lambda: psutil.Process(parent.pid).children())[0]
        parent.kill()
    assert psutil.wait_procs([child], timeout=30)[1] == []


def wait_for(found: Callable[[], list[psutil.Process]]) -> list[psutil.Process]:
    for _ in range(300):
        if there := found():
            return there
        time.sleep(0.05)
    raise AssertionError("nothing came")


def test_a_sound_file_is_tried_once_for_each_way(
    tiny: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, numerics in (("llama", None), ("mamba", None), ("llama", "fast")):
        assert not was_tried(Trial(tiny(name)), numerics)
        require_trial(Trial(tiny(name)), numerics, 1)
        assert was_tried(Trial(tiny(name)), numerics)
    assert len(marks()) == 3
    monkeypatch.setattr(library(), "version", "another")
    assert not was_tried(Trial(tiny("llama")), None)


def test_a_file_that_was_replaced_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    build("llama").save(path)
    require_trial(Trial(path), None, 1)
    model = build("llama")
    whole_numbers(model)
    model.save(path)
    assert not was_tried(Trial(path), None)


def test_what_is_refused_in_order_is_left_to_be_said_later(
    tiny: TinyModels, tmp_path: Path
) -> None:
    path = tmp_path / "half.gguf"
    whole = tiny("llama").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    require_trial(Trial(path), None, 1)
    assert marks() == []


def test_the_command_says_it_and_does_not_crash(tmp_path: Path) -> None:
    path = broken(tmp_path, "a tensor of another type")
    done = subprocess.run(
        [sys.executable, "-m", "localspec", "run", "--raw", "--threads", "1", "-m", path, "hello"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout == ""
    assert "error: broken.gguf cannot be run: llama.cpp crashes on it" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3


def test_files_in_the_current_folder_are_not_run(
    tiny: TinyModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("open('taken-over', 'w').close()")
    (tmp_path / "random.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    require_trial(Trial(tiny("llama")), None, 1)
    assert not (tmp_path / "taken-over").exists()
    assert len(marks()) == 1


def test_a_head_is_tried_with_its_target(tiny: TinyModels, tmp_path: Path) -> None:
    """Alone it cannot run; and a target that ran without its head may fail with it."""
    target, head = tiny("gemma4"), tiny("gemma4-assistant")
    wanted = trials(located(choose(str(target), str(head))))
    assert wanted == [Trial(target), Trial(target, head)]
    for one in wanted:
        require_trial(one, None, 1)
        assert was_tried(one, None)
    own = tiny("qwen35")
    assert trials(located(choose(str(own)))) == [Trial(own, own)]
    assert trials(located(choose(str(own), "lookup"))) == [Trial(own)]
    require_trial(Trial(own, own), None, 1)
    assert was_tried(Trial(own, own), None)
    assert not was_tried(Trial(own), None)


def test_a_head_that_ends_llama_cpp_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "headless.gguf"
    model = build("qwen35")
    del model.tensors["blk.2.nextn.hnorm.weight"]
    model.save(path)
    (one,) = trials(located(choose(str(path))))
    require_trial(one, None, 1)
    assert not was_tried(one, None), "llama.cpp refuses it in order, and says so again"
