"""`localspec doctor`: faults of recipes are findings, flags are words, the raw ones in --json."""

import json
from pathlib import Path
from typing import Any

import pytest

from localspec.cli.doctor import doctor

_OWN = """
summary = "s"
licence = "MIT"
minimum_memory_gb = 1
verified = "not yet"
[target]
path = "gone.gguf"
[[drafters]]
kind = "lookup"
"""


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    folder = tmp_path / "config" / "recipes"
    folder.mkdir(parents=True)
    return folder


def _findings(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    doctor(json=True)
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return [finding for finding in findings if "recipe" in finding["message"]]


def test_recipes_are_looked_at(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (well,) = _findings(capsys)
    assert well["ok"] and str(recipes) in well["message"]
    (recipes / "bad.toml").write_text("summary = 3\x1b")
    (recipes / "own.toml").write_text(_OWN)
    (recipes / "worse.toml").write_text("summary = 3")
    bad, worse, gone = _findings(capsys)
    assert not (bad["ok"] or worse["ok"] or gone["ok"])
    assert "bad.toml is not valid TOML" in bad["message"]
    assert "worse.toml is wrong: summary must be text" in worse["message"]
    assert 'summary = "My pair"' in worse["hint"]
    assert "names the file" in gone["message"] and "gone.gguf" in gone["message"]
    doctor()
    shown = capsys.readouterr().out
    assert '    summary = "My pair"' in shown.replace("      ", "    ") and "\x1b" not in shown
    assert "Not everything is well" in shown


def test_flags_are_words_and_raw_in_json(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor(json=True)
    assert " = 1" in json.loads(capsys.readouterr().out)["llama"]["features"]
    doctor()
    assert " = 1" not in capsys.readouterr().out
