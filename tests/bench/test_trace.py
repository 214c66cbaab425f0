"""Traces: what the writer writes is what the reader reads, and a wrong line is named."""

import errno
import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.bench.trace import read_trace
from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.loop import Engine, Round
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.errors import (
    LocalspecError,
    NotFoundError,
    OutOfResourcesError,
    UnsupportedFileError,
)
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
        (3, lambda v: v.pop("proposals"), "proposals is missing"),
        (4, lambda v: v.update(n_accepted=9), "accepts more"),
        (4, lambda v: v.update(n_verified=99), "verifies more"),
        (4, lambda v: v["confidences"].pop(), "confidence for each"),
        (
            4,
            lambda v: v.update(confidences=[7.0] * len(v["proposals"])),
            "confidences.1 must be 1 or less",
        ),
        (4, lambda v: v.update(position=3), "6 comes next"),
        (5, lambda v: v.update(tokens=["x"]), "tokens.1 must be a whole number"),
        (5, lambda v: v.update(tokens=[]), "tokens is empty"),
        (2, lambda v: v.update(tokens=None), "tokens must be a list"),
        (2, lambda v: (v.clear(), v.update(a=1)), "is missing"),
        (2, lambda v: (v.clear(), v.update(kind="localspec-trace", version=2)), "version 2"),
        (2, lambda v: (v.clear(), v.update(a="localspec-trace")), "neither a header"),
        (1, lambda v: v.update(temperature=10**400), "temperature"),
        (1, lambda v: v.update(temperature=float("nan")), "temperature"),
        (1, lambda v: v.update(temperature=-1), "temperature"),
        (1, lambda v: v.update(temperature="hot"), "temperature"),
    ],
)
def test_a_wrong_line_is_named(
    trace: Path, number: int, edit: Callable[[dict], None], words: str
) -> None:
    change(trace, number, edit)
    with pytest.raises(UnsupportedFileError) as caught:
        read_trace(trace)
    assert f"Line {number} of" in caught.value.message or words == "version 2"
    assert words in caught.value.message
    assert "Input should" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("line", ["{nonsense", "[1, 2]", "7", '"prompt_id"', ""])
def test_a_line_that_is_no_object_is_named(trace: Path, line: str) -> None:
    lines = trace.read_text().splitlines()
    lines[5] = line
    trace.write_text("\n".join(lines) + "\n")
    with pytest.raises(UnsupportedFileError, match="Line 6 of"):
        read_trace(trace)


def test_a_byte_order_mark_is_no_fault(trace: Path) -> None:
    """Windows editors put one in front."""
    whole = read_trace(trace)
    trace.write_bytes(b"\xef\xbb\xbf" + trace.read_bytes())
    assert read_trace(trace) == whole


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


def test_a_later_header_counts_for_what_follows(trace: Path, tmp_path: Path) -> None:
    """Two traces, one after the other, are a trace."""
    other = tmp_path / "o.jsonl"
    write_trace(other, [0.5], n_tokens=20, n_prompt=5)
    change(other, 1, lambda v: v.update(temperature=0.7, model="another"))
    both = tmp_path / "both.jsonl"
    both.write_text(trace.read_text() + other.read_text())
    found = read_trace(both)
    assert [p.temperature for p in found] == [0.0, 0.0, 0.7]
    assert [p.header["model"] for p in found] == ["made up", "made up", "another"]
    # cut off within the later header
    both.write_text(trace.read_text() + other.read_text()[:40])
    assert len(read_trace(both)) == 2


def test_a_new_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    path, old = tmp_path / "t.jsonl", tmp_path / "old.jsonl"
    old.write_text("what was there")
    old.chmod(0o644)
    for file in (path, old):
        with TraceWriter(file, {}):
            pass
    assert path.read_text() == old.read_text(), "what was there is replaced"
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(old.stat().st_mode) == 0o644, "an old file stays whose it was"


class Full(io.StringIO):
    """A disk with room for so many lines."""

    room = 2

    def write(self, text: str) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= 1
        return super().write(text)


def a_round() -> Round:
    sequence = Sequence(0, [1, 2, 3], Sampler(SamplingParams()), n_prompt=2)
    return Round(sequence, [3], 0, Draft(sequence, 0), 0.0, 0.1)


def test_a_fault_is_told_once_and_ends_the_trace() -> None:
    failures: list[LocalspecError] = []
    disk = Full()
    with TraceWriter(disk, {}, failures.append) as out:
        hear = out.listener(iter(["a", "b"]))
        done = a_round()
        for _ in range(3):
            hear(done)
        hear(a_round())
    (failure,) = failures
    assert "No space left" in failure.message
    assert disk.getvalue().count("\n") == 2
    with pytest.raises(LocalspecError, match="No space left"), TraceWriter(Full(), {}) as out:
        out.listener(iter(["a"]))(done)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_from_the_start() -> None:
    failures: list[LocalspecError] = []
    with TraceWriter(Path("/dev/full"), {}, failures.append) as out:
        out.listener(iter(["a"]))(a_round())
    assert len(failures) == 1
    with pytest.raises(OutOfResourcesError, match="No space left"):
        TraceWriter(Path("/dev/full"), {})


def test_names_that_have_no_utf_8(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl", {"model": "\ud800é"}):
        pass
    assert json.loads((tmp_path / "t.jsonl").read_text(encoding="utf-8"))["model"] == "\ud800é"


def test_an_open_file_stays_open(tmp_path: Path) -> None:
    with (tmp_path / "t.jsonl").open("w") as file:
        with TraceWriter(file, {"model": "m"}):
            pass
        assert not file.closed
    assert json.loads((tmp_path / "t.jsonl").read_text())["model"] == "m"
