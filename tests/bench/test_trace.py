"""Traces: what the writer writes is what the reader reads, and a wrong line is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.bench.trace import read_trace
from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.loop import Engine, Round
from localspec.engine.sampling import Sampler
from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.params import SamplingParams
from localspec.trace import TraceWriter
from tests.bench.made_up import write_trace
from tests.engine.running import NO_END, opened, prompts
from tests.tiny import TinyModels, Variant


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    write_trace(path, [0.8, 0.4], n_tokens=30, n_prompt=5)
    return path


def change(path: Path, number: int, edit: Callable[[dict], None]) -> None:
    """Edit one line, numbered from 1."""
    lines = path.read_text().splitlines()
    values = json.loads(lines[number - 1])
    edit(values)
    lines[number - 1] = json.dumps(values)
    path.write_text("\n".join(lines) + "\n")


def test_rounds_of_an_engine_come_back(tiny: TinyModels, tmp_path: Path) -> None:
    """Every round that wrote tokens, with proposals and verdicts; rounds that read are left out."""
    path = tmp_path / "t.jsonl"
    params = SamplingParams(temperature=1.0, seed=3)
    rounds: list[Round] = []
    with (
        opened(tiny("llama"), n_batch=32) as target,
        opened(tiny("llama", Variant(eps=0.05))) as model,
        TraceWriter(path, {"model": "tiny", "temperature": 1.0}) as out,
    ):
        drafter: Drafter = DraftModel(model, target.n_vocab)
        engine = Engine(target, [drafter], FixedDepth(4), NO_END)
        for number, prompt in enumerate(prompts(3)):
            out.prompt(f"p{number}", "prose", "fixed:4")
            sequence = engine.open(prompt, Sampler(params), 40)
            for done in engine.stream(sequence):
                out.round(done)
                rounds.append(done)
            engine.close(sequence)
            engine.forget()
    found = read_trace(path)
    assert [p.prompt_tokens for p in found] == prompts(3)
    assert [(p.prompt_id, p.prompt_class, p.arm) for p in found][1] == ("p1", "prose", "fixed:4")
    assert all(p.temperature == 1.0 and p.header["model"] == "tiny" for p in found)
    assert all(len(p.answer) == 40 for p in found)
    assert any(not done.tokens for done in rounds), "a prompt is longer than a pass"
    written = [done for done in rounds if done.tokens]
    read = [r for p in found for r in p.rounds]
    assert [r.tokens for r in read] == [done.tokens for done in written]
    assert [r.n_accepted for r in read] == [done.n_accepted for done in written]
    assert [r.proposals[: r.n_verified] for r in read] == [d.draft.tokens for d in written]
    assert any(r.n_accepted for r in read)


def test_header_says_what_it_is(trace: Path) -> None:
    header = json.loads(trace.read_text().splitlines()[0])
    assert header["version"] == 1
    assert header["kind"] == "localspec-trace"
    assert header["drafter"] == "made up"


@pytest.mark.parametrize(
    ("number", "edit", "words"),
    [
        (3, lambda v: v.pop("proposals"), "proposals"),
        (4, lambda v: v.update(n_accepted=9), "accepts more"),
        (4, lambda v: v.update(n_verified=99), "verifies more"),
        (4, lambda v: v["confidences"].pop(), "confidence for each"),
        (4, lambda v: v.update(confidences=[7.0] * len(v["proposals"])), "confidences"),
        (4, lambda v: v.update(position=3), "6 comes next"),
        (5, lambda v: v.update(tokens=["x"]), "tokens"),
        (5, lambda v: v.update(tokens=[]), "tokens"),
        (2, lambda v: v.update(tokens=None), "tokens"),
        (2, lambda v: (v.clear(), v.update(a=1)), "has no"),
    ],
)
def test_a_wrong_line_is_named(
    trace: Path, number: int, edit: Callable[[dict], None], words: str
) -> None:
    change(trace, number, edit)
    with pytest.raises(UnsupportedFileError) as caught:
        read_trace(trace)
    assert f"Line {number} of" in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("line", ["{nonsense", "[1, 2]", "7", '"prompt_id"', ""])
def test_a_line_that_is_no_object_is_named(trace: Path, line: str) -> None:
    lines = trace.read_text().splitlines()
    lines[5] = line
    trace.write_text("\n".join(lines) + "\n")
    with pytest.raises(UnsupportedFileError, match="Line 6 of"):
        read_trace(trace)


def test_a_round_before_any_prompt(trace: Path) -> None:
    lines = trace.read_text().splitlines(keepends=True)
    trace.write_text(lines[0] + lines[2])
    with pytest.raises(UnsupportedFileError, match=r"Line 2 .* before any prompt"):
        read_trace(trace)


def test_accepted_tokens_must_be_the_proposed_ones(trace: Path) -> None:
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    number = next(i for i, v in enumerate(lines) if v.get("n_accepted"))
    change(trace, number + 1, lambda v: v["proposals"].__setitem__(0, 5))
    with pytest.raises(UnsupportedFileError, match=f"Line {number + 1} .* other tokens"):
        read_trace(trace)


def test_a_line_cut_off_at_the_end_is_left_out(trace: Path) -> None:
    """What a stopped run leaves can still be used."""
    whole = read_trace(trace)
    trace.write_bytes(trace.read_bytes()[:-20])
    cut = read_trace(trace)
    assert len(cut[-1].rounds) == len(whole[-1].rounds) - 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no trace"),
        (b"hello\n", "no trace"),
        (b'{"version": 1}\n', "no trace"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'{"kind": "localspec-trace", "version": 2}\n', "version 2"),
        (b'{"kind": "localspec-trace", "version": 1}\n', "no answer"),
    ],
)
def test_what_is_no_trace_of_ours(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UnsupportedFileError, match=words):
        read_trace(path)


def test_missing_and_unwritable_files(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(LocalspecError, match="Cannot read"):
        read_trace(tmp_path)
    with pytest.raises(LocalspecError, match="Cannot write"):
        TraceWriter(tmp_path / "none" / "t.jsonl", {})


def test_an_open_file_stays_open(tmp_path: Path) -> None:
    with (tmp_path / "t.jsonl").open("w") as file:
        with TraceWriter(file, {"model": "m"}):
            pass
        assert not file.closed
    assert json.loads((tmp_path / "t.jsonl").read_text())["model"] == "m"
