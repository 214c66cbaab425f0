"""A report as Markdown and CSV, and read back to be compared."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.bench.compare import compare, load_report
from localspec.bench.export import to_csv, to_markdown
from localspec.errors import UsageError
from localspec.results import ArmSummary, BenchReport, Run


def report(speedup: float = 1.5, model: str = "A model") -> BenchReport:
    run = Run("code-1", "code", "auto", 0, 96, 9.5, 0.8, 2.5, 0.4, True, None)
    summary = ArmSummary(
        speedup_geomean=speedup,
        speedup_median=speedup,
        speedup_min=1.1,
        speedup_ci95=(speedup - 0.1, speedup + 0.1),
        tokens_per_s=9.5,
        acceptance_rate=0.8,
        tokens_per_round=2.5,
        ttft_s=0.4,
        identical=1,
        compared=1,
        by_class={"code": speedup},
        by_position=[(10, 8), (8, 4)],
    )
    return BenchReport(
        {"cores": 2}, {"name": model}, None, {"tokens": 96}, [run], {"auto": summary}, 1000, 1.01
    )


def test_csv_has_a_row_a_run() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv(report())))
    assert row["class"] == "code"
    assert float(row["tokens_per_s"]) == 9.5
    assert row["first_divergence"] == ""


def test_markdown_shows_figures_and_keeps_names_in_their_place() -> None:
    text = to_markdown(report(model="a|b <script> `x`"))
    assert "| auto | 9.5 | 1.50 | 1.40–1.60 | 1.10 | 80% | 2.50 | 1 of 1 |" in text
    assert "a\\|b &lt;script\\> \\`x\\`" in text
    assert "at the start: 1.01" in text
    assert "Peer" not in text


def test_markdown_says_what_a_peer_is() -> None:
    made = replace(
        report(), settings={"tokens": 96, "peer": {"url": "http://h/v1", "model": "m|n"}}
    )
    text = to_markdown(made)
    assert "**Peer** peer is another server, http://h/v1; model m\\|n" in text
    assert "'url'" not in text


def test_a_report_is_read_back_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(report(1.2).to_json()))
    old = load_report(path)
    assert old == report(1.2)
    values = report(1.2).to_json()
    # as earlier versions wrote it
    del values["summary"]["auto"]["by_position"], values["runs"][0]["same_text"]
    path.write_text(json.dumps(values))
    assert load_report(path).summary["auto"].by_position == []
    (change,) = compare(old, report(1.5))
    assert change.apart
    assert "1.20 -> 1.50 × plain (beyond chance)" in str(change)
    assert not compare(old, report(1.25))[0].apart


def changed(**values: object) -> bytes:
    """A benchmark's file with other values."""
    return json.dumps({**report().to_json(), **values}).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "something else"),
        (b'{"version": 7}', "version is 7"),
        (b'{"version": 1}', "missing or wrong"),
        (
            b'{"version": 1, "machine": {}, "model": {}, "drafter": null, "settings": {}, "runs": 3,'
            b' "summary": {}, "peak_memory_bytes": 1, "drift": null, "calibration_error": null}',
            "missing or wrong",
        ),
        (changed(summary={"auto": {"by_class": {}, "ttft_s": 10**401}}), "missing"),
        (changed(drift=10**401), "drift"),
        (changed(runs=[{"class": "code"}]), "runs.1.prompt_id is missing"),
        (changed(summary={"auto": {"by_class": {}, "tokens_per_s": "fast"}}), "is missing"),
        (changed(runs=[3]), "missing or wrong"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        load_report(path)
    with pytest.raises(UsageError, match="No such file"):
        load_report(tmp_path / "absent.json")
