"""Lists of recipes and models: at any width every name is whole."""

import io
from typing import Any

import pytest
from rich.console import Console

from localspec.ui.features import in_words
from localspec.ui.model_list import ModelRow, UseRow, draw_models
from localspec.ui.recipe_table import draw_recipe, draw_recipes

_NO_FILE = {"repo": None, "file": None, "packages": (), "path": None, "there": None}


def _record(name: str, kind: str) -> dict[str, Any]:
    return {
        "name": name,
        "summary": "A pair that is told about in a sentence of some length, with a [bold] word.",
        "minimum_memory_gb": 24.0,
        "verified": None,
        "note": None,
        "licence": "MIT",
        "licence_url": None,
        "path": "/x.toml",
        "target": {**_NO_FILE, "path": "/models/big.gguf", "there": False},
        "sampling": {},
        "drafters": [{"kind": kind, "source": None, "note": None}],
    }


def _console(width: int) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=width), out


RECORDS = [_record("deepseek-r1-distill-qwen-32b", "draft-model"), _record("m", "mtp")]


@pytest.mark.parametrize("width", [20, 40, 60, 72, 80, 100, 118, 160])
def test_no_name_is_cut(width: int) -> None:
    console, out = _console(width)
    draw_recipes(RECORDS, console)
    shown = out.getvalue()
    assert "deepseek-r1-distill-qwen-32b" in shown and "…" not in shown
    words = " ".join(shown.split())
    assert "mtp" in words and "24 GB" in words and "draft-model" in words
    flat = words.replace(" ", "")
    assert "[bold]" in flat or width == 160
    assert all(len(line) <= max(width, 28) for line in shown.splitlines()[:-2])


def test_wide_enough_is_a_line_each() -> None:
    console, out = _console(160)
    draw_recipes(RECORDS, console)
    assert len([line for line in out.getvalue().splitlines() if "24 GB" in line]) == 2
    assert "with a [bold] word" in " ".join(out.getvalue().split())


def test_in_full_says_what_is_not_there() -> None:
    console, out = _console(100)
    draw_recipe(RECORDS[1], console)
    assert "mtp" in out.getvalue()
    assert "/models/big.gguf (not there)" in out.getvalue()


@pytest.mark.parametrize("width", [20, 80])
def test_names_and_paths_of_models_are_never_broken(width: int) -> None:
    """So that they can be copied; a terminal wraps what is too long without breaking it."""
    name, path = "a-[b]-" + "n" * 90 + ".gguf", "/models/" + "p" * 90 + ".gguf"
    console, out = _console(width)
    uses = (UseRow("one", "target"), UseRow("two", "drafter"))
    draw_models([ModelRow(name, 1_500_000_000, path, "packages", uses)], console)
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert name in lines and path in lines
    assert "1.50 GB, from packages, recipe one, drafter of recipe two" in lines


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            "CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | "
            "AVX512 = 1 | AVX512_VNNI = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | ",
            "CPU with AVX-512, AVX-512 VNNI, llamafile's matrix products, OpenMP threads, "
            "weights repacked for this processor",
        ),
        (
            "CUDA : ARCHS = 750,890 | USE_GRAPHS = 1 | CPU : NEON = 1 | SVE = 0 | DOTPROD = 1",
            "CUDA with ARCHS 750,890, USE_GRAPHS; CPU with NEON, DOTPROD",
        ),
        ("AVX = 0 | AVX2 = 0", "none"),
        ("", "none"),
    ],
)
def test_features_in_words(flags: str, words: str) -> None:
    """Whatever a build says, nothing that is on is lost and nothing that is off is shown."""
    assert in_words(flags) == words
