"""A report as Markdown and CSV, and read back to be compared."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from localspec.bench.compare import compare, differences, load_report
from localspec.bench.export import to_csv, to_markdown
from localspec.cli.bench_files import write_report
from localspec.errors import LocalspecError, OutOfResourcesError, UsageError
from localspec.results import ArmSummary, BenchReport, Run
from localspec.ui.bench import draw_bench


def report(
    speedup: float = 1.5, model: str = "A model", n_prompts: int = 1, tokens: int = 96
) -> BenchReport:
    run = Run("code-1", "code", "auto", 0, tokens, 9.5, 0.8, 2.5, 0.4, True, None)
    runs = [replace(run, prompt_id=f"code-{i}") for i in range(1, n_prompts + 1)]
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
        {"cores": 2}, {"name": model}, None, {"tokens": 96}, runs, {"auto": summary}, 1000, 1.01
    )


def test_csv_has_a_row_a_run() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv(report())))
    assert row["class"] == "code"
    assert float(row["tokens_per_s"]) == 9.5
    assert row["first_divergence"] == ""


def test_markdown_shows_figures_and_keeps_names_in_their_place() -> None:
    text = to_markdown(report(model="a|b <script> `x`"))
    assert "| auto | 9.5 | 1.50 | 1.40–1.60 | 1.50 | 1.10 | 0.40 | 80% | 2.50 | 1 of 1 |" in text
    assert "a\\|b &lt;script\\> \\`x\\`" in text
    assert "red \ufffd\\[31m" in to_markdown(report(model="red \x1b[31m"))
    assert "arms: plain, auto" in to_markdown(
        replace(report(), settings={"arms": ["plain", "auto"]})
    )
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
    (change,) = compare(report(1.2, n_prompts=5), report(1.5, n_prompts=6))
    assert change.apart
    assert "1.20 -> 1.50 × plain (beyond chance)" in str(change)
    assert not compare(old, report(1.25))[0].apart
    # an interval over two prompts is the two of them
    (change,) = compare(old, report(1.5, n_prompts=6))
    assert "too few prompts" in str(change)


def test_what_was_measured_otherwise_is_said() -> None:
    old, new = report(), replace(report(model="Another"), settings={"tokens": 16, "seed": 1})
    assert differences(old, report()) == []
    assert differences(old, new) == ["tokens 96 -> 16", "seed None -> 1"]
    other = replace(old, model={"name": "A", "file": "b.gguf"}, machine={"processor": "P"})
    assert differences(old, other) == ["model None -> b.gguf", "machine None -> P"]


def drawn(made: BenchReport, width: int) -> str:
    facts = {"processor": "P", "threads": 2, "memory_bytes": 8e9, "system": "S"}
    settings = {"prompts": 1, "tokens": 96, "temperature": 0.0, "seed": 0, "numerics": "exact"}
    model = {"name": "M", "quantization": "Q4_K_M"}
    whole = replace(
        made,
        machine={**facts, "llama_cpp_python": "0"},
        settings={**settings, "complete": True},
        model=model,
    )
    console = Console(width=width, file=io.StringIO(), highlight=False)
    draw_bench(whole, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_few_prompts_have_no_interval() -> None:
    assert "1.40–1.60" in drawn(report(n_prompts=5), 100)
    few = drawn(report(n_prompts=4), 100)
    assert "1.40–1.60" not in few
    assert "fewer than 5 prompts" in few


def test_answers_too_short_to_be_timed_are_named() -> None:
    made = report(n_prompts=5)
    made.runs.append(replace(made.runs[0], prompt_id="short-1", tokens=3))
    assert "too short to be timed, and in no figure: short-1" in " ".join(drawn(made, 200).split())
    assert "too short" not in drawn(report(n_prompts=5), 200)


@pytest.mark.parametrize("width", [30, 40, 50, 60, 80, 120])
def test_no_column_is_cut_in_a_narrow_terminal(width: int) -> None:
    table = drawn(report(n_prompts=5), width).splitlines()[:2]
    assert "…" not in "".join(table)
    assert "× plain" in table[0]
    assert "1.50" in table[1]
    assert ("median" in table[0]) == (width >= 80)


def changed(**values: object) -> bytes:
    """A benchmark's file with other values."""
    return json.dumps({**report().to_json(), **values}).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (changed(drift=float("nan")), "no figure"),
        (changed(drift=1e308), "no figure"),
        (changed(runs=None), "of another kind"),
        (b"[]", "something else"),
        (b'{"version": 7}', "version is 7"),
        (b'{"version": 1}', "is missing"),
        (
            b'{"version": 1, "machine": {}, "model": {}, "drafter": null, "settings": {}, "runs": 3,'
            b' "summary": {}, "peak_memory_bytes": 1, "drift": null, "calibration_error": null}',
            "of another kind",
        ),
        (changed(summary={"auto": {"by_class": {}, "ttft_s": 10**401}}), "missing"),
        (changed(drift=10**401), "drift"),
        (changed(runs=[{"class": "code"}]), "runs.1.prompt_id is missing"),
        (changed(summary={"auto": {"by_class": {}, "tokens_per_s": "fast"}}), "is missing"),
        (changed(runs=[3]), "of another kind"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        load_report(path)
    with pytest.raises(UsageError, match="No such file"):
        load_report(tmp_path / "absent.json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_keeps_no_other_file_from_being_written(tmp_path: Path) -> None:
    files = {"--json": Path("/dev/full"), "--csv": tmp_path / "a.csv"}
    with pytest.raises(OutOfResourcesError, match="/dev/full"):
        write_report(report(), files)
    assert files["--csv"].read_text() == to_csv(report())


def test_a_user_that_does_not_exist_is_no_failure_of_ours(tmp_path: Path) -> None:
    with pytest.raises(LocalspecError, match="nosuchuser"):
        write_report(report(), {"--json": Path("~nosuchuser/x.json")})
