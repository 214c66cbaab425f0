"""The process never aborts: calls that would end llama.cpp, or be answered wrongly without a word, are refused.

Each case runs in a process of its own, so that an abort is a red test and not the end of all of them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.llama.provocations import PROVOCATIONS
from tests.tiny import TinyModels

ROOT = Path(__file__).parents[2]

REFUSED: list[tuple[str, tuple[str, ...], str]] = [
    ("a batch larger than n_batch", ("llama",), "ValueError: 33 tokens in a pass of at most 32"),
    (
        "more outputs than n_outputs_max",
        ("llama",),
        "ValueError: 21 output rows in a pass of at most 20",
    ),
    ("a batch without tokens", ("llama",), "ValueError: a pass without tokens"),
    ("a batch without tokens", ("mamba",), "ValueError: a pass without tokens"),
    ("a token that is negative", ("llama",), "ValueError: a token that is none: -1"),
    ("a token beyond the vocabulary", ("llama",), "LocalspecError: llama.cpp could not run a pass"),
    ("a position gap", ("llama",), "LocalspecError: llama.cpp could not run a pass"),
    ("a position gap", ("qwen35",), "ValueError: position 7 after 3 tokens"),
    ("a position that is taken", ("llama",), "LocalspecError: llama.cpp could not run a pass"),
    ("a gap within a batch", ("llama",), "LocalspecError: llama.cpp could not run a pass"),
    ("a gap within a batch", ("qwen35",), "ValueError: position 9 after 4 tokens"),
    ("a batch of sequence -1", ("llama",), "ValueError: a sequence that is none of 2"),
    ("a batch of sequence 2 of 2", ("mamba",), "ValueError: a sequence that is none of 2"),
    ("keep of sequence 300", ("llama",), "ValueError: sequence 300 in a memory of 2"),
    ("keep of sequence 300", ("gemma3",), "ValueError: sequence 300 in a memory of 2"),
    ("keep of sequence 300", ("mamba",), "ValueError: sequence 300 in a memory of 2"),
    ("keep of sequence -1", ("llama",), "ValueError: sequence -1 in a memory of 2"),
    ("drop of sequence 300", ("llama",), "ValueError: sequence 300 in a memory of 2"),
    ("drop of sequence -1", ("qwen35",), "ValueError: sequence -1 in a memory of 2"),
    ("fork to sequence 300", ("llama",), "ValueError: sequence 300 in a memory of 2"),
    ("fork of sequence -1", ("llama",), "ValueError: sequence -1 in a memory of 2"),
    ("mark of sequence 2 of 2", ("mamba",), "ValueError: sequence 2 in a memory of 2"),
    ("fewer outputs than sequences", ("llama",), "nothing: (4, 288)"),
    ("fewer outputs than sequences", ("mamba",), "nothing: (4, 288)"),
    ("a pass of a closed context", ("llama",), "ValueError: a pass of a context that is closed"),
    (
        "a head whose layers were not loaded",
        ("qwen35",),
        "ValueError: qwen35.gguf was loaded without its MTP layers",
    ),
    (
        "a head that is not there",
        ("llama",),
        "UnsupportedFileError: llama.gguf has no MTP layers",
    ),
    (
        "a head that is not there",
        ("qwen35-without-mtp",),
        "UnsupportedFileError: qwen35-without-mtp.gguf has no MTP layers",
    ),
    ("a head without states", ("qwen35",), "ValueError: states go with the tokens of a head"),
    ("too few states", ("qwen35",), "ValueError: states of shape (1, 64) for 3 tokens"),
    ("too few states", ("qwen35", "qwen35-mtp"), "ValueError: states of shape (1, 64)"),
    ("too few states", ("gemma4", "gemma4-assistant"), "ValueError: states of shape (1, 64)"),
    ("too many states", ("qwen35",), "ValueError: states of shape (4, 64) for 3 tokens"),
    ("states that are too narrow", ("qwen35",), "ValueError: states of shape (3, 32)"),
    ("states that are too wide", ("qwen35",), "ValueError: states of shape (3, 128)"),
    ("states in a row", ("qwen35",), "ValueError: states of shape (192,)"),
    ("states and no tokens", ("qwen35",), "ValueError: a token that is none: -1"),
    ("states for a target", ("qwen35",), "ValueError: states go with the tokens of a head"),
    ("states of an architecture", ("qwen35",), "nothing: ((3, 64), True)"),
    ("states of an architecture", ("gemma4",), "nothing: ((3, 64), True)"),
    ("more states than a pass has", ("qwen35",), "ValueError: 100000 states of a pass"),
    ("states of no pass", ("qwen35",), "ValueError: "),
    ("states of two layers", ("qwen3",), "nothing: ((3, 128), True)"),
    ("states of layer 99", ("qwen3",), "ValueError: layer 99 of a model of 4"),
    ("states of layer -1", ("qwen3",), "ValueError: layer -1 of a model of 4"),
    (
        "states of what leaves the last layer",
        ("qwen3",),
        "UnsupportedFileError: llama.cpp does not",
    ),
    ("more states of a layer than a pass has", ("qwen3",), "ValueError: 100000 states of a pass"),
    ("states to encode", ("qwen3", "eagle3"), "nothing: (2, 32)"),
    ("states to encode", ("qwen3", "dflash"), "nothing: None"),
    ("states to encode that are too narrow", ("qwen3", "eagle3"), "ValueError: states of shape"),
    ("states to encode that are too narrow", ("qwen3", "dflash"), "ValueError: states of shape"),
    *(
        (
            "states of two layers",
            (name,),
            f"UnsupportedFileError: llama.cpp does not give out the states of {name} models",
        )
        for name in ("qwen2", "gemma3", "mamba", "falcon-h1", "step35", "hy_v3")
    ),
    *(
        (
            "states of an architecture",
            (name,),
            f"UnsupportedFileError: llama.cpp does not give out the states of {name} models",
        )
        for name in ("llama", "qwen2", "qwen3", "gemma3", "mamba", "lfm2", "falcon-h1")
    ),
]
"""What is done, on which models, and what must come of it."""


def ran(*command: str | Path, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "GGML_NO_BACKTRACE": "1", "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}
    if home is not None:
        env["LOCALSPEC_HOME"] = str(home)
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        text=True,
        check=False,
    )


def test_every_provocation_is_tried() -> None:
    assert {name for name, _, _ in REFUSED} == set(PROVOCATIONS)


@pytest.mark.parametrize(
    ("what", "models", "said"),
    REFUSED,
    ids=[f"{what} ({models[0]})" for what, models, _ in REFUSED],
)
def test_a_call_is_refused(tiny: TinyModels, what: str, models: tuple[str, ...], said: str) -> None:
    files = [tiny(name) for name in models]
    done = ran("-m", "tests.llama.provocations", what, *files)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith(said)
