"""Figures from made-up runs, checked against what can be worked out by hand."""

from dataclasses import replace

import pytest

from localspec.bench.summary import summarise
from localspec.results import BenchReport, Run

BASE = Run("p", "code", "plain", 0, 96, 10.0, None, 1.0, 0.5, True, None)


def run(prompt: str, arm: str, rate: float | None, repeat: int = 0, **other: object) -> Run:
    kind = "code" if prompt < "c" else "prose"
    return replace(
        BASE,
        prompt_id=prompt,
        prompt_class=kind,
        arm=arm,
        tokens_per_s=rate,
        repeat=repeat,
        **other,  # type: ignore[arg-type]
    )


def test_prompts_are_compared_with_themselves() -> None:
    runs = [
        run("a", "plain", 10.0),
        run("b", "plain", 20.0),
        run("c", "plain", 5.0),
        run("a", "auto", 20.0, identical_to_plain=False, first_divergence=3),
        run("b", "auto", 20.0),
        run("c", "auto", 20.0),
    ]
    found = summarise(runs, ["plain", "auto"], {"auto": (40, 30)}, seed=1)
    auto = found["auto"]
    assert auto.speedup_geomean == pytest.approx((2 * 1 * 4) ** (1 / 3))
    assert (auto.speedup_median, auto.speedup_min) == (2.0, 1.0)
    assert auto.by_class == {"code": pytest.approx(2**0.5), "prose": pytest.approx(4.0)}
    assert auto.acceptance_rate == 0.75
    assert (auto.identical, auto.compared) == (2, 3)
    low, high = auto.speedup_ci95
    assert 1.0 <= low < auto.speedup_geomean < high <= 4.0
    assert found["plain"].speedup_ci95 == (1.0, 1.0)
    assert found["plain"].acceptance_rate is None
    again = summarise(runs, ["plain", "auto"], {}, seed=1)["auto"]
    assert again.speedup_ci95 == auto.speedup_ci95


def test_repeats_count_by_their_median() -> None:
    runs = [run("a", "plain", rate, i) for i, rate in enumerate((10.0, 11.0, 90.0))]
    runs += [run("a", "auto", rate, i) for i, rate in enumerate((1.0, 22.0, 23.0))]
    assert summarise(runs, ["auto"], {}, 0)["auto"].speedup_geomean == pytest.approx(2.0)


def test_what_says_nothing_is_left_out() -> None:
    runs = [
        run("a", "plain", 10.0),
        run("b", "plain", 10.0, tokens=7),
        run("a", "auto", 15.0),
        run("b", "auto", 900.0, tokens=7),
        run("c", "auto", 900.0),
        run("a", "fixed:4", None, tokens=1),
    ]
    found = summarise(runs, ["plain", "auto", "fixed:4", "lookup"], {}, 0)
    assert list(found) == ["plain", "auto"]
    assert found["auto"].speedup_geomean == pytest.approx(1.5)
    assert found["auto"].by_class == {"code": pytest.approx(1.5)}
    assert summarise([], ["plain"], {}, 0) == {}


def test_json_has_the_agreed_names() -> None:
    runs = [run("a", "plain", 10.0)]
    report = BenchReport({}, {}, None, {}, runs, summarise(runs, ["plain"], {}, 0), 1)
    values = report.to_json()
    assert set(values["runs"][0]) == {
        "prompt_id",
        "class",
        "arm",
        "repeat",
        "tokens",
        "tokens_per_s",
        "acceptance_rate",
        "tokens_per_round",
        "ttft_s",
        "identical_to_plain",
        "first_divergence",
        "same_text",
    }
    assert values["summary"]["plain"]["by_class"] == {"code": {"speedup_geomean": 1.0}}
