"""Files that llama.cpp would not survive: the command ends with its exit code and one sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.llama.test_aborts import ran
from tests.tiny import TinyModel, Variant, build


def sound(model: TinyModel) -> None:
    """Nothing is wrong with it."""


def without(part: str) -> Callable[[TinyModel], None]:
    def spoil(model: TinyModel) -> None:
        for name in [name for name in model.tensors if part in name]:
            del model.tensors[name]

    return spoil


def shaped(name: str, *shape: int) -> Callable[[TinyModel], None]:
    def spoil(model: TinyModel) -> None:
        assert name in model.tensors
        model.tensors[name] = np.ones(shape, np.float32)

    return spoil


def whole_numbers(name: str) -> Callable[[TinyModel], None]:
    def spoil(model: TinyModel) -> None:
        model.tensors[name] = np.ones_like(model.tensors[name], np.int32)

    return spoil


def not_numbers(name: str) -> Callable[[TinyModel], None]:
    def spoil(model: TinyModel) -> None:
        model.tensors[name] = np.full_like(model.tensors[name], np.nan)

    return spoil


def with_key(key: str, value: int | list[int] | None) -> Callable[[TinyModel], None]:
    def spoil(model: TinyModel) -> None:
        assert key in model.metadata
        if value is None:
            del model.metadata[key]
        else:
            model.metadata[key] = value

    return spoil


def newer(model: TinyModel) -> None:
    model.architecture = "qwen99"


_BRIEFLY = ["-n", "4", "--raw", "--threads", "1", "--temperature", "0"]

Spoilt = tuple[str, Callable[[TinyModel], None]]

FILES: dict[str, tuple[Spoilt, str | Spoilt | None, set[int], str]] = {
    "a trunk that is to draft by itself": (
        ("qwen35", without("blk.2.")),
        "mtp",
        {6},
        "target.gguf cannot draft by itself: the MTP head was left out",
    ),
    "a model without a head that is to draft by itself": (
        ("llama", sound),
        "mtp",
        {6},
        "target.gguf cannot draft by itself: it has no MTP head",
    ),
    "a head with a tensor of another shape": (
        ("qwen35", shaped("blk.2.nextn.eh_proj.weight", 64, 64)),
        None,
        {4},
        "target.gguf cannot be loaded: ",
    ),
    "the same, not used": (
        ("qwen35", shaped("blk.2.nextn.eh_proj.weight", 64, 64)),
        "lookup",
        {4},
        "target.gguf cannot be loaded: ",
    ),
    "a head with a tensor of another type": (
        ("qwen35", whole_numbers("blk.2.nextn.enorm.weight")),
        "mtp",
        {4},
        "target.gguf cannot be run: llama.cpp crashes on it",
    ),
    "a head without a tensor": (
        ("qwen35", without("blk.2.nextn.hnorm")),
        None,
        {4},
        "target.gguf cannot be loaded: ",
    ),
    "a head beside it, with a tensor of another type": (
        ("qwen35", sound),
        ("qwen35-mtp", whole_numbers("blk.2.nextn.enorm.weight")),
        {4},
        "drafter.gguf cannot be run: llama.cpp crashes on it",
    ),
    "a head that computes no numbers": (
        ("qwen35", sound),
        ("qwen35-mtp", not_numbers("blk.2.nextn.enorm.weight")),
        {4},
        "drafter.gguf cannot draft: what it computes is not numbers (NaN)",
    ),
    "a head beside it, without a tensor": (
        ("gemma4", sound),
        ("gemma4-assistant", without("nextn.pre_projection")),
        {4},
        "drafter.gguf cannot be loaded: ",
    ),
    "dflash without layers": (
        ("qwen3", sound),
        ("dflash", with_key("target_layers", None)),
        {4, 6},
        "drafter.gguf cannot ",
    ),
    "eagle3 with two layers": (
        ("qwen3", sound),
        ("eagle3", with_key("target_layers", [0, 3])),
        {4, 6},
        "drafter.gguf cannot ",
    ),
    "eagle3 with a layer that its target does not have": (
        ("qwen3", sound),
        ("eagle3", with_key("target_layers", [0, 1, 77])),
        {4, 6},
        "drafter.gguf cannot ",
    ),
    **{
        f"{name} as a target": (
            (name, sound),
            None,
            {4},
            "target.gguf is a drafter",
        )
        for name in ("qwen35-mtp", "gemma4-assistant", "eagle3", "dflash")
    },
    "target and head the wrong way round": (
        ("gemma4-assistant", sound),
        ("gemma4", sound),
        {4},
        "target.gguf is a drafter",
    ),
    "a head of another architecture": (
        ("llama", sound),
        ("gemma4-assistant", sound),
        {6},
        "drafter.gguf cannot draft for target.gguf: it is made for gemma4",
    ),
    "an architecture that is newer": (
        ("qwen3", newer),
        None,
        {4},
        "target.gguf cannot be loaded: ",
    ),
    "a drafter that is newer": (
        ("qwen3", sound),
        ("qwen3", newer),
        {4},
        "drafter.gguf cannot be loaded: ",
    ),
    "a head that is newer": (
        ("qwen35", sound),
        ("qwen35-mtp", newer),
        {6},
        "drafter.gguf cannot draft for target.gguf: it is made for qwen99",
    ),
    "a state of another size": (
        ("qwen35", with_key("ssm.inner_size", 7)),
        None,
        {4},
        "target.gguf cannot be run: llama.cpp crashes on it",
    ),
    "a drafter with a state of another size": (
        ("qwen35", sound),
        ("qwen35", with_key("ssm.inner_size", 7)),
        {4},
        "drafter.gguf cannot be run: llama.cpp crashes on it",
    ),
    "a state of no size": (
        ("qwen35", with_key("ssm.state_size", 0)),
        "lookup",
        {4},
        "target.gguf cannot be loaded: ",
    ),
    "a matrix of a state of another shape": (
        ("qwen35", shaped("blk.0.ssm_out.weight", 64, 48)),
        None,
        {4},
        "target.gguf cannot be loaded: ",
    ),
}
"""A target, a drafter (a file, a kind or none), the exit codes that are right and what is said."""


def saved(path: Path, spoilt: Spoilt) -> Path:
    name, spoil = spoilt
    model = build(name, Variant())
    spoil(model)
    model.save(path)
    return path


@pytest.mark.parametrize("what", FILES)
def test_the_command_refuses_it(tmp_path: Path, what: str) -> None:
    target, drafter, codes, said = FILES[what]
    options: list[str | Path] = ["-m", saved(tmp_path / "target.gguf", target)]
    if isinstance(drafter, tuple):
        options += ["-d", saved(tmp_path / "drafter.gguf", drafter)]
    elif drafter is not None:
        options += ["-d", drafter]
    command = ["-m", "localspec", "run", "-n", "4", "--raw", "--threads", "1", *options, "hi"]
    done = ran(*command, home=tmp_path / "home")
    assert done.returncode in codes, done.stderr
    assert done.stdout == ""
    first, *hint = done.stderr.splitlines()
    assert first.startswith(f"error: {said}")
    assert len(hint) <= 1, done.stderr


@pytest.mark.parametrize(
    "spoil",
    [
        whole_numbers("blk.2.nextn.enorm.weight"),
        not_numbers("blk.2.nextn.enorm.weight"),
        without("blk.2.nextn.hnorm"),
    ],
    ids=["crash", "no numbers", "no tensor"],
)
def test_a_head_that_was_only_found_is_left_out(
    tmp_path: Path, spoil: Callable[[TinyModel], None]
) -> None:
    target = saved(tmp_path / "target.gguf", ("qwen35-without-mtp", sound))
    saved(tmp_path / "mtp-target.gguf", ("qwen35-mtp", spoil))
    answer = ["-m", "localspec", "run", *_BRIEFLY, "-m", target, "hi"]
    plain = ran(*answer, "-d", "none", home=tmp_path / "home")
    done = ran(*answer, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout != ""
    assert "Answering without the head that was found: mtp-target.gguf cannot" in done.stderr
    assert "Leave it out: -d lookup" in done.stderr
    assert ran(*answer, "-d", "mtp", home=tmp_path / "home").returncode == 6


def test_a_head_of_the_target_itself_is_left_out_where_it_crashes(tmp_path: Path) -> None:
    target = saved(tmp_path / "target.gguf", ("qwen35", whole_numbers("blk.2.nextn.enorm.weight")))
    answer = ["-m", "localspec", "run", *_BRIEFLY, "-m", target, "hi"]
    done = ran(*answer, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout != ""
    assert "Answering without the head that was found: target.gguf cannot" in done.stderr
