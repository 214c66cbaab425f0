"""Replays: the simulated clock, what a trace tells, the policies and the command."""

import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from localspec.bench.machines import Machine
from localspec.bench.oracle import foresight_rate, oracle_rate
from localspec.bench.proposals import Answer, Proposal, recall
from localspec.bench.replay import (
    DEFAULT_POLICIES,
    policy_maker,
    read_answers,
    replay,
    together,
    tuned,
    untuned,
)
from localspec.bench.simulation import Arm, RecordedDrafter, Simulation
from localspec.bench.trace import RecordedPrompt, RecordedRound
from localspec.cli.bench_replay import replay_command
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.base import Draft
from localspec.engine.margin import MarginDepth
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.errors import LocalspecError, UnsupportedFileError, UsageError
from localspec.params import SamplingParams
from localspec.ui.replay import draw_replay
from tests.bench.made_up import OPEN, PREDICTABLE, write_trace

COMMAND = typer.Typer()
COMMAND.command("replay")(replay_command)

CHEAP = tuple(1 + 0.02 * n for n in range(33))


def machine(rows: tuple[float, ...], level: float, reading: float = 0.0) -> Machine:
    return Machine(name="m", description="d", source="s", rows=rows, level=level, reading=reading)


def answer(right: str, confidences: list[float] | None = None, **known: object) -> Answer:
    """An answer of a first token and one for each letter: y right, n wrong, ? not known."""
    tokens = list(range(100, 101 + len(right)))
    given = confidences or [0.9] * len(right)
    proposals: list[Proposal | None] = [None]
    for i, (letter, c) in enumerate(zip(right, given, strict=True), 1):
        proposals.append(None if letter == "?" else Proposal(tokens[i] if letter == "y" else 7, c))
    prompt = [1, 2, 3]
    return Answer("a", "c", 0.0, prompt, tokens, "draft-model", proposals, {}, **known)


def simulated(policy: DepthPolicy, script: Answer, m: Machine) -> tuple[int, float]:
    tally = Simulation(Arm.of(policy, m, "draft-model"), m, [script]).run()
    return tally.tokens, tally.seconds


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    write_trace(path, [PREDICTABLE, OPEN, 0.0], n_tokens=150)
    return path


def test_the_clock_counts_levels_and_rows() -> None:
    """Worked out by hand: T = 1, 1.5, 1.6, a level 0.25."""
    m = machine((1.0, 1.5, 1.6, 1.7), 0.25)
    assert simulated(NoDraft(), answer("ynyyny"), m) == (6, 6.0)
    # yn|y: 2 levels, 3 rows -> 2 tokens; yy|n: 3 tokens; y: no room for a draft
    assert simulated(FixedDepth(2), answer("ynyyny"), m) == (6, pytest.approx(2 * 2.1 + 1.0))
    # confidence .1 is drafted and not verified: 2 levels, 2 rows
    low = answer("yny", [0.9, 0.1, 0.9])
    assert simulated(ThresholdDepth(4, 0.5), low, m) == (3, pytest.approx(0.5 + 1.5 + 1.0))


def test_a_draft_ends_where_nothing_is_known() -> None:
    m = machine((1.0, 1.5, 1.6, 1.7), 0.25)
    # y, and no more known: one level, two rows, two tokens; the same at the end, where only one fits
    assert simulated(FixedDepth(3), answer("y?yy"), m) == (4, pytest.approx(2 * 1.75))
    # nothing known at the place itself: a plain round
    assert simulated(FixedDepth(3), answer("?y?"), m) == (3, pytest.approx(1.0 + 1.75))


def test_catching_up_is_charged_once() -> None:
    slow, free = machine(CHEAP, 0.1, reading=0.5), machine(CHEAP, 0.1)
    script = answer("y" * 20)
    _, with_reading = simulated(FixedDepth(4), script, slow)
    _, without = simulated(FixedDepth(4), script, free)
    # four tokens to begin with, of which two belong to a level
    assert with_reading - without == pytest.approx(2 * 0.5)


def test_what_was_refused_has_to_be_read_again() -> None:
    """Behind by the one token after a miss, by two after a draft that was taken whole."""
    drafter = RecordedDrafter(machine(CHEAP, 0.1, reading=0.5), "draft-model")
    script = answer("ynnyy")
    s = Sequence(0, [1, 2, 3, script.tokens[0]], Sampler(SamplingParams()), 6, 3)
    drafter.knows(s, script)
    drafter.begin(s)
    assert drafter.n_behind(s) == 4
    for n_accepted, behind in ((1, 1), (0, 1)):
        draft = Draft(s, 3)
        for _ in range(3):
            drafter.draft([draft])
        place = s.n_generated
        s.tokens += script.tokens[place : place + n_accepted + 1]
        drafter.accept(draft, n_accepted)
        assert drafter.n_behind(s) == behind
    draft = Draft(s, 1)
    drafter.draft([draft])
    s.tokens += script.tokens[4:6]
    drafter.accept(draft, 1)
    assert drafter.n_behind(s) == 2


def test_a_tuned_policy_has_not_seen_what_it_is_tried_on(trace: Path) -> None:
    alone = {"p0": read_answers([trace])["p0"]}
    m = machine(tuple(1 + 0.3 * n for n in range(33)), 0.3)
    make = policy_maker("auto")
    assert tuned(make, alone, m) == untuned(make, alone, m)
    assert tuned(make, read_answers([trace]), m) != untuned(make, read_answers([trace]), m)


def test_rounds_of_a_trace_are_put_together() -> None:
    """What was proposed after a wrong proposal says nothing about the true text."""

    def done(position: int, proposals: list[int], n: int, tokens: list[int]) -> RecordedRound:
        return RecordedRound(
            position=position,
            drafter="draft-model",
            proposals=proposals,
            confidences=[0.5 + i / 100 for i in range(len(proposals))],
            n_verified=n,
            n_accepted=n,
            tokens=tokens,
            draft_s=0.0,
            verify_s=0.0,
        )

    rounds = [
        done(2, [], 0, [10]),
        done(3, [11, 99, 98, 97], 1, [11, 12]),
        done(5, [13, 14, 15, 16], 2, [13, 14, 20]),
    ]
    base = {"prompt_id": "p", "class": "c", "arm": "fixed:4", "tokens": [1, 2]}
    shorter = RecordedPrompt.model_validate({**base, "rounds": [done(2, [], 0, [10, 11])]})
    (found,) = recall([shorter, RecordedPrompt.model_validate({**base, "rounds": rounds})])
    assert found.tokens == [10, 11, 12, 13, 14, 20]
    tokens = [p.token if p else None for p in found.proposals]
    assert tokens == [None, 11, 99, 13, 14, 15]
    assert [found.right(i) for i in range(1, 6)] == [True, False, True, True, False]
    assert found.coverage == 1.0
    assert found.acceptance == pytest.approx(3 / 5)
    assert [p.token for p in found.tails[2]] == [98, 97]
    assert found.after(1, [11]) == found.proposals[2]
    assert found.after(1, [11, 99]) == found.tails[2][0]
    assert found.after(3, [13, 14]) == found.proposals[5]
    assert found.after(5, [15]) == found.tails[5][0]
    assert found.after(5, [15, 16]) is None
    rounds[2] = done(5, [13, 14, 20, 77], 3, [13, 14, 20])
    (found,) = recall([RecordedPrompt.model_validate({**base, "rounds": rounds})])
    assert found.n_right(3, 16) == 3, "what was proposed beyond the end is left out"


def test_another_text_of_the_same_prompt_tells_only_up_to_where_it_parts() -> None:
    def prompt(tokens: list[int], proposals: list[int]) -> RecordedPrompt:
        first = {"position": 1, "n_accepted": 0, "n_verified": 0, "draft_s": 0.0, "verify_s": 0.0}
        plain = {**first, "drafter": "", "proposals": [], "confidences": [], "tokens": tokens[:-1]}
        last = {
            **first,
            "position": len(tokens),
            "drafter": "draft-model",
            "proposals": proposals,
            "confidences": [0.5],
            "tokens": tokens[-1:],
        }
        return RecordedPrompt.model_validate(
            {"prompt_id": "p", "class": "c", "arm": "a", "tokens": [1], "rounds": [plain, last]}
        )

    (found,) = recall([prompt([5, 6, 7, 8], [8]), prompt([5, 9, 3], [3])])
    assert found.tokens == [5, 6, 7, 8]
    assert [p and p.token for p in found.proposals] == [None, None, None, 8]


def test_the_oracle_is_above_every_policy(trace: Path) -> None:
    answers = read_answers([trace])
    m = machine(CHEAP, 0.1)
    found = replay(answers, m)
    assert list(found.policies) == list(DEFAULT_POLICIES)
    for name, rates in found.policies.items():
        for prompt, rate in rates.by_prompt.items():
            assert rate <= found.oracle.by_prompt[prompt] * 1.02, (name, prompt)
            assert found.oracle_lookup.by_prompt[prompt] >= found.oracle.by_prompt[prompt] * 0.999
    assert found.policies["plain"].rate_vs_plain == pytest.approx(1.0)
    assert found.oracle.rate_vs_plain > 1.5
    assert found.coverage > 0.9


def test_the_oracle_takes_the_best_depth() -> None:
    """Of five right proposals it takes three where the fourth and fifth cost too much."""
    m = machine((1.0, 1.0, 1.0, 1.0, 9.0, 9.0), 0.1)
    assert oracle_rate(answer("yyyy" + "n"), m) == pytest.approx(5 / (1.3 + 1.0))
    assert oracle_rate(answer("nnnn"), m) == 1.0
    assert oracle_rate(answer("yyy"), machine(CHEAP, 0.1)) == pytest.approx(3 / (0.2 + 1.04)), (
        "the last token comes with the pass"
    )


def test_foresight_goes_by_confidence_alone() -> None:
    """It knows how sure the drafter will be, not that it is wrong; and drafts nothing that cannot pay."""
    m = machine(CHEAP, 0.1)
    sure, unsure = [0.9999] * 4, [0.01] * 4
    assert foresight_rate(answer("yyyy", sure), m) == pytest.approx(oracle_rate(answer("yyyy"), m))
    # sure and wrong: every round pays for a draft, so plain decoding is better
    assert foresight_rate(answer("nnnn", sure), m) == 1.0
    # unsure and right: nobody would have drafted
    assert foresight_rate(answer("yyyy", unsure), m) == 1.0
    # the doubtful fourth is left out, though it is right
    mixed = [0.9999, 0.9999, 0.9999, 0.01, 0.9999]
    expected = 5 / (0.3 + m.pass_s(4) + m.pass_s(1))
    assert foresight_rate(answer("yyyyy", mixed), m) == pytest.approx(expected)


def test_look_up_is_made_again_from_the_text() -> None:
    """No round of a look-up is needed: a text that repeats is drafted from its own tokens."""
    tokens = [50, *list(range(60, 72)) * 8]
    script = Answer("a", "c", 0.0, [1], tokens, "", [None] * len(tokens), {})
    m = machine(CHEAP, 0.9)
    tally = Simulation(Arm.of(MarginDepth(16), m, ""), m, [script]).run()
    assert tally.rate > 2.0
    assert oracle_rate(script, m) == 1.0
    assert oracle_rate(script, m, look_up=True) >= tally.rate
    assert Simulation(Arm.of(FixedDepth(4), m, ""), m, [script]).run().rate == pytest.approx(1.0)


def test_auto_learns_where_drafting_cannot_pay(trace: Path) -> None:
    dear = machine(tuple(float(n) for n in range(1, 34)), 0.6)
    found = replay(
        read_answers([trace]), dear, ["fixed:4", "auto", "auto-run", "auto-tuned"]
    ).policies
    assert found["fixed:4"].rate_vs_plain < 0.6
    assert found["auto"].rate_vs_plain > 0.9
    assert found["auto-run"].rate_vs_plain >= found["auto"].rate_vs_plain
    assert found["auto-tuned"].rate_vs_plain > 0.95


def test_two_in_one_batch(trace: Path) -> None:
    """Most and least predictable are taken; the best equal depth is found, not assumed."""
    answers = read_answers([trace])
    found = together(answers, machine(CHEAP, 0.1))
    assert found
    assert found.prompts == ("p0", "p2")
    depth, rate = found.equal_depth
    assert 2 <= depth <= 16
    assert rate > 1.5
    assert found.auto > 1.5
    no_gain = together(answers, machine((1.0, 1.5, *(5.0 * n for n in range(1, 32))), 0.6))
    assert no_gain
    assert no_gain.equal_depth == (0, pytest.approx(1.0))
    assert together({"p0": answers["p0"]}, machine(CHEAP, 0.1)) is None


def test_prompts_of_several_traces_keep_apart(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    write_trace(other, [PREDICTABLE], n_tokens=40)
    assert list(read_answers([trace, other])) == ["p0", "p1", "p2", "other:p0"]


@pytest.mark.parametrize(
    ("name", "kind", "depth"),
    [
        ("plain", NoDraft, 0),
        ("fixed:3", FixedDepth, 3),
        ("threshold:0.5", ThresholdDepth, 16),
        ("auto", MarginDepth, 16),
    ],
)
def test_policies_by_name(name: str, kind: type, depth: int) -> None:
    policy = policy_maker(name)()
    assert type(policy) is kind
    assert policy.max_depth == depth


@pytest.mark.parametrize(
    "name",
    [
        *("", "fixed", "fixed:x", "fixed:-1", "fixed: 4", "fixed:\u0664", "threshold:2"),
        *("threshold:1_0", "autos", "auto:3", "auto-tuned:", "plain:1", "plain:"),
    ],
)
def test_unknown_policies(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        policy_maker(name)
    hint = caught.value.hint or ""
    assert "Known: plain" in hint or hint.startswith(("--policies fixed", "--policies threshold"))


def test_a_trace_without_a_drafter_model_cannot_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(path, [0.5], n_tokens=10)
    text = path.read_text()
    path.write_text(re.sub('"drafter":"draft-model"', '"drafter":"lookup"', text))
    with pytest.raises(UnsupportedFileError, match="nothing to replay"):
        read_answers([path])


@pytest.mark.parametrize("width", [40, 50, 80])
def test_no_column_is_cut_in_a_narrow_terminal(trace: Path, width: int) -> None:
    found = replay(read_answers([trace]), machine(CHEAP, 0.1), ["plain", "auto"]).to_json()
    console = Console(width=width, file=io.StringIO(), highlight=False)
    draw_replay(found, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    assert ("of the oracle" in text) == (width >= 80)
    assert "worst" in text


def test_the_command_draws_and_writes(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    arguments = [str(trace), "--machine", "discrete-gpu", "--policies", "plain,fixed:4, auto"]
    done = CliRunner().invoke(COMMAND, [*arguments, "--json", str(out)])
    assert done.exit_code == 0, done.output
    for word in ("fixed:4", "auto", "oracle", "foresight", "discrete-gpu", "llama.cpp#5877"):
        assert word in done.output
    found = json.loads(out.read_text())
    assert list(found["policies"]) == ["plain", "fixed:4", "auto"]
    assert set(found["policies"]["auto"]["by_prompt"]) == {"p0", "p1", "p2"}
    assert found["policies"]["plain"]["rate_vs_plain"] == 1.0
    assert found["machine"]["name"] == "discrete-gpu"
    assert found["oracle"]["rate_vs_plain"] > 1.0
    assert found["together"]["prompts"] == ["p0", "p2"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], UsageError),
        (["--machine", "nope"], LocalspecError),
        (["--machine", "moe", "--policies", "nope"], UsageError),
        (["--machine", "moe", "--policies", ","], UsageError),
        (["--machine", "moe", "--json", "no/such/folder/r.json"], LocalspecError),
    ],
)
def test_bad_input_of_the_command(trace: Path, arguments: list[str], error: type) -> None:
    done = CliRunner().invoke(COMMAND, [str(trace), *arguments])
    assert isinstance(done.exception, error)
    assert done.exception.hint  # type: ignore[attr-defined]
