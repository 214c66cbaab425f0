"""The run itself, on tiny models: who answers what, when, from what, and what is booked."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import pytest

from localspec.bench.answering import Answer, Answering
from localspec.bench.arm_names import parse_arms
from localspec.bench.arms import Arm, open_arms
from localspec.bench.runner import Bench, Plan
from localspec.bench.suite import BenchPrompt, parse_suite
from localspec.engine.depth import FixedDepth, NoDraft
from localspec.engine.loop import Round
from localspec.errors import LocalspecError
from localspec.messages import Message
from localspec.pair import choose, located
from localspec.params import SamplingParams
from localspec.runtime import Runtime, Wishes
from tests.tiny import TinyModels, Variant

SAMPLING = SamplingParams(temperature=0.0, seed=3)
PROMPTS = parse_suite(
    '{"id": "a", "class": "code", "turns": ["The quick brown fox"]}\n'
    '{"id": "b", "class": "chat", "turns": ["Hello", "And then?"]}\n'
    '{"id": "c", "class": "code", "turns": ["abcabcabcabcabc"]}\n',
    "s",
)


@pytest.fixture(scope="module")
def runtime(tiny: TinyModels) -> Iterator[Runtime]:
    pair = located(choose(str(tiny("llama")), str(tiny("llama", Variant(eps=0.05)))))
    with Runtime(pair, Wishes(n_ctx=512, n_threads=1, profile=False)) as opened:
        yield opened


def bench(runtime: Runtime, arms: str = "auto,fixed:2,lookup", **plan: int) -> Bench:
    made = Plan(SAMPLING, **{"n_tokens": 16, **plan})
    return Bench(runtime, open_arms(parse_arms(arms), runtime), PROMPTS, made)


def order(made: Bench) -> list[tuple[str, str]]:
    """Who answers what, in turn."""
    steps = [(step.done, step.prompt_id, step.arm) for step in made.run()]
    return [(prompt, arm) for (_, prompt, arm), _ in groupby(steps)]


def test_every_arm_answers_every_prompt_with_the_same_tokens(runtime: Runtime) -> None:
    made = bench(runtime, repeat=2)
    turns = order(made)
    report = made.report()
    arms = ["plain", "auto", "fixed:2", "lookup"]
    assert len(report.runs) == 3 * 4 * 2
    for prompt in PROMPTS:
        for arm in arms:
            runs = [r for r in report.runs if (r.prompt_id, r.arm) == (prompt.prompt_id, arm)]
            assert sorted(r.repeat for r in runs) == [0, 1]
            assert {r.prompt_class for r in runs} == {prompt.prompt_class}
            assert {r.tokens for r in runs} == {16 * len(prompt.turns)}
            assert all(r.identical_to_plain and r.first_divergence is None for r in runs)
    assert list(report.summary) == arms
    assert report.summary["fixed:2"].acceptance_rate is not None
    assert report.summary["plain"].acceptance_rate is None
    assert report.drift is not None
    assert report.calibration_error is not None
    assert report.settings["complete"]
    assert report.drafter is not None
    assert report.peak_memory_bytes > 1_000_000
    # warm-up first, plain on the first prompt before and after all else
    assert turns[0] == ("a", "warm-up")
    assert next(t for t in turns if t[1] != "warm-up") == turns[-1] == ("a", "plain")


def test_the_order_is_random_and_fixed_by_the_seed(runtime: Runtime) -> None:
    first, second = order(bench(runtime, repeat=3)), order(bench(runtime, repeat=3))
    assert first == second
    by_prompt = {p: [arm for prompt, arm in first[3:-1] if prompt == p] for p in "abc"}
    assert len({tuple(arms) for arms in by_prompt.values()}) == 3
    assert by_prompt["c"] != sorted(by_prompt["c"], key=["plain", "auto"].count)


def test_every_answer_reads_its_prompt_itself(runtime: Runtime) -> None:
    answering = Answering(runtime, SAMPLING, 8)
    heard: list[Round] = []
    answering.on_round = heard.append
    behind = []
    for arm in (Arm("x", "draft-model", FixedDepth(2)), Arm("y", "none", NoDraft())) * 2:
        for _ in answering.answer(PROMPTS[0], arm):
            pass
        assert heard[0].sequence.n_cached == 0
        heard.clear()
    drafter = runtime.drafters["draft-model"]
    arm = Arm("x", "draft-model", FixedDepth(2))
    for _ in answering.answer(PROMPTS[0], arm):
        if heard and not behind:
            behind.append(drafter.n_behind(heard[0].sequence))
    assert behind[0] >= heard[0].sequence.n_prompt, "the drafter remembers nothing either"


def test_a_second_turn_goes_on_from_the_arms_own_answer(runtime: Runtime) -> None:
    answering = Answering(runtime, SAMPLING, 8)
    heard: list[Round] = []
    answering.on_round = heard.append
    *_, answer = answering.answer(PROMPTS[1], Arm("x", "draft-model", FixedDepth(2)))
    first, second = dict.fromkeys(done.sequence for done in heard)
    start = first.n_prompt
    assert second.tokens[start : start + 8] == answer.ids[:8]
    assert answer.ids[8:] == second.tokens[second.n_prompt :]
    assert answer.n_decoded == 2 * 7, "the first token of a turn comes out of the prompt"


def test_an_arm_that_differs_is_found(runtime: Runtime) -> None:
    made = bench(runtime, "lookup")
    answering = made._answering

    @dataclass(slots=True)
    class Other(Arm):
        def take_over(self, runtime: Runtime, *, record_all: bool = False) -> None:
            super(Other, self).take_over(runtime)
            answering.sampling = replace(SAMPLING, temperature=2.0)

    class Same(Arm):
        def take_over(self, runtime: Runtime, *, record_all: bool = False) -> None:
            super().take_over(runtime)
            answering.sampling = SAMPLING

    made._arms = {
        "plain": Same("plain", "none", NoDraft()),
        "lookup": Other("lookup", "none", NoDraft()),
    }
    list(made.run())
    report = made.report()
    differing = [run for run in report.runs if run.arm == "lookup"]
    assert all(run.identical_to_plain is False for run in differing)
    assert all(0 <= (run.first_divergence or 0) < 8 for run in differing)
    assert (report.summary["lookup"].identical, report.summary["lookup"].compared) == (0, 3)


def test_what_is_finished_counts_when_it_is_ended(runtime: Runtime) -> None:
    made = bench(runtime)
    steps = made.run()
    for step in steps:
        if step.done == 4:
            break
    steps.close()
    report = made.report()
    # the first of the four was the plain answer for the drift
    assert len(report.runs) == 3
    assert not report.settings["complete"]
    assert report.drift is None
    assert runtime.engine.active == []
    list(bench(runtime, "plain").run())


def test_prompts_that_do_not_fit(runtime: Runtime) -> None:
    long = BenchPrompt("long", "x", ((Message("user", "a" * 600),),))
    two = BenchPrompt("two", "x", ((Message("user", "a"),), (Message("user", "b"),)))
    arms = open_arms(parse_arms("plain"), runtime)
    made = Bench(runtime, arms, [long, PROMPTS[0]], Plan(SAMPLING, 16))
    assert "long" in made.notices[0].message
    list(made.run())
    assert {run.prompt_id for run in made.report().runs} == {"a"}
    with pytest.raises(LocalspecError, match="All prompts are longer"):
        Bench(runtime, arms, [long], Plan(SAMPLING, 16))
    # room for the first answer counts
    with pytest.raises(LocalspecError, match="All prompts are longer"):
        Bench(runtime, arms, [two], Plan(SAMPLING, 500))


@dataclass(frozen=True)
class Reply:
    text: str = "yes"
    tokens: int = 20
    tokens_per_s: float | None = 10.0
    ttft_s: float = 0.1


class Server:
    def __init__(self, fails_at: int = 1000) -> None:
        self.asked: list[list[tuple[str, str]]] = []
        self.fails_at = fails_at
        self.facts = {"url": "http://peer/v1", "model": "theirs"}
        self.text = "yes"

    def answer(self, messages, n_tokens: int, temperature: float, seed: int) -> Reply:
        if len(self.asked) == self.fails_at:
            raise LocalspecError("The peer went away.")
        self.asked.append([(m.role, m.content) for m in messages])
        assert (n_tokens, temperature, seed) == (16, 0.0, 3)
        return Reply(self.text)


def test_a_peer_is_one_arm_more(runtime: Runtime) -> None:
    server = Server()
    made = Bench(
        runtime, open_arms(parse_arms("plain"), runtime), PROMPTS, Plan(SAMPLING, 16), server
    )
    list(made.run())
    runs = [run for run in made.report().runs if run.arm == "peer"]
    assert [run.tokens for run in runs] == [20, 40, 20]
    assert {run.identical_to_plain for run in runs} == {None}
    talk = [("user", "Hello"), ("assistant", "yes"), ("user", "And then?")]
    assert talk in server.asked
    report = made.report()
    assert report.summary["peer"].compared == 0
    assert {run.same_text for run in runs} == {False}
    assert {run.same_text for run in report.runs if run.arm == "plain"} == {None}
    assert report.settings["peer"] == server.facts
    note = str(report.peer_note)
    assert "http://peer/v1; model theirs" in note
    assert "plain in 0 of 3 answers, which nobody promises" in note


def test_a_peer_with_our_text(runtime: Runtime) -> None:
    arms = open_arms(parse_arms("plain"), runtime)
    own = list(Answering(runtime, SAMPLING, 16).answer(PROMPTS[0], arms[0]))[-1]
    server = Server()
    server.text = f"\n{own.text} "
    made = Bench(runtime, arms, PROMPTS[:1], Plan(SAMPLING, 16), server)
    list(made.run())
    (run,) = [run for run in made.report().runs if run.arm == "peer"]
    assert own.text
    assert run.same_text


def test_a_peer_is_waited_for_step_by_step(runtime: Runtime) -> None:
    """So that Ctrl-C is noticed while it says nothing."""
    never, asked = threading.Event(), threading.Event()

    class Silent(Server):
        def answer(self, messages, n_tokens: int, temperature: float, seed: int) -> Reply:
            asked.set()
            never.wait(20)
            return Reply()

    arms = open_arms(parse_arms("plain"), runtime)
    made = Bench(runtime, arms, PROMPTS, Plan(SAMPLING, 16), Silent())
    steps = made.run()
    started = time.monotonic()
    for step in steps:
        if asked.is_set() and step.arm == "peer":
            break
    steps.close()
    assert time.monotonic() - started < 10
    assert not made.report().settings["complete"]
    never.set()


def test_acceptance_by_position_adds_up(runtime: Runtime) -> None:
    made = bench(runtime, "fixed:3")
    list(made.run())
    summary = made.report().summary
    assert summary["plain"].by_position == []
    counts = summary["fixed:3"].by_position
    assert len(counts) == 3
    tested, accepted = made._tests["fixed:3"]
    assert (sum(n for n, _ in counts), sum(k for _, k in counts)) == (tested, accepted)
    # whatever is accepted at a position opens the next, unless the draft ends there
    assert all(n <= kept for (_, kept), (n, _) in pairwise(counts))


def test_a_peer_that_stops_half_way_drops_out(runtime: Runtime) -> None:
    arms = open_arms(parse_arms("plain"), runtime)
    made = Bench(runtime, arms, PROMPTS, Plan(SAMPLING, 16), Server(fails_at=1))
    list(made.run())
    report = made.report()
    assert made.failure is not None
    assert [run.prompt_id for run in report.runs if run.arm == "peer"] == ["a"]
    assert report.settings["peer"]["model"] == "theirs"
    assert [run.prompt_id for run in report.runs if run.arm == "plain"] == ["a", "b", "c"]
    assert not report.settings["complete"]


def test_counts_add_up() -> None:
    assert Answer().tokens_per_s is None
    assert Answer().acceptance_rate is None
    assert Answer(tested=4, accepted=1).acceptance_rate == 0.25
