"""The page: a whole document that needs nothing else, shows what was measured, and runs no one's text."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from localspec.bench.page import to_html
from localspec.bench.plots import Bar, bars, columns, course
from localspec.bench.summary import summarise
from localspec.results import BenchReport, Run

EVIL = "<script>alert(1)</script>"
RUN = Run("p", "code", "plain", 0, 96, 10.0, None, 1.0, 0.5, True, None)
VOID = {"meta", "br"}


def report(prompt_id: str = "code-1", model: str = "A model", **other: object) -> BenchReport:
    runs = []
    for prompt, kind, rate in ((prompt_id, "code", 10.0), ("b", "code", 12.0), ("c", "prose", 8.0)):
        plain = replace(RUN, prompt_id=prompt, prompt_class=kind, tokens_per_s=rate)
        runs.append(plain)
        runs.append(
            replace(plain, arm="auto", tokens_per_s=rate * (1.5 if kind == "code" else 1.1))
        )
        none = {"identical_to_plain": None, "tokens_per_round": None}
        runs.append(replace(plain, arm="peer", same_text=prompt == "b", **none))
    runs[1] = replace(runs[1], identical_to_plain=False, first_divergence=17, tokens_per_s=18.0)
    arms = ["plain", "auto", "peer", "lookup"]
    positions = {"auto": [(20, 16), (16, 8)]}
    made = BenchReport(
        machine={
            "processor": "A processor",
            "threads": {"decode": 2, "verify": 4},
            "memory_bytes": 8_000_000_000,
            "load": None,
        },
        model={"name": model, "file": "m.gguf"},
        drafter=None,
        settings={
            "command": "localspec bench --peer http://h/v1",
            "arms": arms,
            "seed": 1,
            "complete": True,
            "peer": {"url": "http://h/v1", "model": model, "timed_by": "the server"},
        },
        runs=runs,
        summary=summarise(runs, arms, {"auto": (36, 24)}, 1, positions=positions),
        peak_memory_bytes=1_500_000_000,
        drift=0.93,
    )
    return replace(made, **other)  # type: ignore[arg-type]


class Page(HTMLParser):
    """What is on a page; every element must be closed by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str) -> int:
        return [name for name, _ in self.tags].count(tag)


def test_it_needs_nothing_else() -> None:
    text = to_html(report())
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "img", "iframe", "object", "base"} & {t for t, _ in page.tags}
    for _, attributes in page.tags:
        assert not {"src", "href", "style", "onload"} & set(attributes)
    assert "url(" not in text
    assert "@import" not in text
    policies = [a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert "prefers-color-scheme: dark" in text


def test_every_figure_is_told_to_those_who_do_not_see_it() -> None:
    page = Page(to_html(report()))
    n_plots = page.count("svg")
    # two over all prompts, two classes, one arm's positions, the course of plain
    assert n_plots == 6
    assert page.count("desc") == n_plots
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(set(ids)) == len(ids) == 2 * n_plots
    named = [a["aria-labelledby"] for t, a in page.tags if t == "svg"]
    assert sorted(" ".join(map(str, named)).split()) == sorted(map(str, ids))
    assert page.count("caption") == page.count("table") > 4
    assert all("scope" in a for t, a in page.tags if t == "th")


def test_figures() -> None:
    page = Page(to_html(report()))
    for words in (
        "localspec bench --peer http://h/v1",
        "peer (another server)",
        "the text of plain in 1 of 3 answers, which nobody promises",
        "67 %",
        "ran at 0.93 × its rate at the start",
        "differs from token 17",
        "identical",
        "another text",
        "A processor",
        "8.00 GB",
        "decode 2, verify 4",
        "compared with plain decoding by: lookup",
        "20 16",
        "peak memory 1.50 GB",
    ):
        assert words in page.text, words
    assert "None" not in page.text, "what is not known is left out"


def test_times_plain_and_interval_are_drawn_by_class() -> None:
    made = report()
    text = to_html(made)
    code = re.findall(r"prompts of the class code</title><desc[^>]*>([^<]*)<", text)
    assert len(code) == 1
    assert "auto 1.64 × (1.50–1.80)" in code[0]
    prose = re.findall(r"prompts of the class prose</title><desc[^>]*>([^<]*)<", text)
    # one prompt: no interval
    assert "auto 1.10 ×;" in prose[0]


@pytest.mark.parametrize(
    "evil", [EVIL, '"><img src=x onerror=y>', "</title></style><b>", "{{ 7*7 }}"]
)
def test_names_run_nothing(evil: str) -> None:
    made = report(evil, evil)
    runs = [
        replace(run, prompt_class=evil if run.prompt_class == "code" else "x") for run in made.runs
    ]
    summary = {**made.summary, evil: made.summary["auto"]}
    settings = {**made.settings, "command": evil, "arms": [evil, "nobody" + evil], "suite": evil}
    harmless = Page(to_html(report()))
    machine = {"processor": evil, evil: evil}
    text = to_html(replace(made, runs=runs, summary=summary, settings=settings, machine=machine))
    page = Page(text)
    assert {t for t, _ in page.tags} <= {t for t, _ in harmless.tags}
    assert page.text.count(" ".join(evil.split())) > 8
    assert "49" not in page.text


def test_what_would_steer_a_reader_is_shown() -> None:
    text = to_html(report("a\x1b[31m\u202eb\ud800", "m"))
    assert not set("\x1b\u202e\ud800") & set(text)
    text.encode("utf-8")


def test_what_is_missing_is_said_or_left_out() -> None:
    empty = report(runs=[], summary={}, drift=None, settings={"complete": False, "arms": ["plain"]})
    page = Page(to_html(empty))
    assert "Not complete: 0 answers" in page.text
    assert "No answer was finished." in page.text
    assert page.count("svg") == 0
    undrafted = report()
    plain = {"plain": undrafted.summary["plain"]}
    runs = [run for run in undrafted.runs if run.arm == "plain"]
    page = Page(to_html(replace(undrafted, runs=runs, summary=plain, drift=None)))
    assert "The drift was not measured" in page.text
    assert "Acceptance by position" not in page.text


def test_arms_stand_in_one_order_in_all_tables() -> None:
    made = report()
    text = to_html(replace(made, runs=made.runs[::-1]))
    head = text[text.index('aria-label="Each prompt"') :]
    arms = re.findall(r'<th scope="col">(plain|auto|peer)</th>', head)
    assert arms == ["plain", "auto", "peer"]


def test_plots_are_to_scale() -> None:
    rows = [Bar("a", 1.0, "1.00 ×"), Bar("b<", 2.0, "2.00 ×", (1.5, 2.5), theirs=True)]
    drawn = ET.fromstring(bars("n", "t", rows, mark=1.0))
    one, two = (float(r.attrib["width"]) for r in drawn.iter("rect"))
    assert two == pytest.approx(2 * one, abs=0.2)
    (mark,) = [line for line in drawn.iter("line") if line.attrib["class"] == "mark"]
    first = next(drawn.iter("rect")).attrib
    assert float(mark.attrib["x1"]) == pytest.approx(float(first["x"]) + one, abs=0.2)
    whisker = next(line for line in drawn.iter("line") if line.attrib["class"] == "whisker")
    length = float(whisker.attrib["x2"]) - float(whisker.attrib["x1"])
    assert length == pytest.approx(one, abs=0.2)
    assert [r.attrib["class"] for r in drawn.iter("rect")] == ["bar", "bar theirs"]
    heights = [
        float(r.attrib["height"])
        for r in ET.fromstring(columns("n", "t", [("1", 1.0), ("2", 0.25)])).iter("rect")
    ]
    assert heights[1] == pytest.approx(heights[0] / 4, abs=0.1)
    line = next(ET.fromstring(course("n", "t", [5.0, 10.0, 0.0], "x")).iter("polyline"))
    ys = [float(p.split(",")[1]) for p in line.attrib["points"].split()]
    assert ys[0] - ys[1] == pytest.approx(ys[2] - ys[0], abs=0.2)
    assert bars("n", "t", [Bar("a", 0.0, "0")])
