"""Recording deeper drafts: the policy and the text notice nothing of it."""

import random
from pathlib import Path

import pytest

from localspec.bench.machines import load_machine
from localspec.bench.proposals import Answer, recall
from localspec.bench.simulation import Arm, Simulation
from localspec.bench.trace import read_trace
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine, Round
from localspec.engine.recording import Recording
from localspec.engine.sampling import Sampler
from localspec.llama.context import LlamaContext
from localspec.params import SamplingParams
from localspec.trace import TraceWriter
from tests.engine.running import NO_END, opened, prompts
from tests.tiny import TinyModels, Variant

PARAMS = SamplingParams(temperature=1.0, seed=11)
PROMPT = prompts(2)[1]


def rounds(
    target: LlamaContext, drafters: list[Drafter], policy: DepthPolicy, n: int = 60
) -> list[Round]:
    target.memory.drop(0)
    engine = Engine(target, drafters, policy, NO_END)
    sequence = engine.open(PROMPT, Sampler(PARAMS), n)
    found = [done for done in engine.stream(sequence) if done.tokens]
    engine.close(sequence, 1)
    return found


def shape(found: list[Round]) -> list[tuple[list[int], list[int], int]]:
    return [(done.tokens, done.draft.tokens, done.n_accepted) for done in found]


class Dice(FixedDepth):
    """Draws its decisions, and notes all it is asked and told."""

    def __init__(self) -> None:
        super().__init__(5)
        self.dice = random.Random(4)
        self.notes: list[object] = []

    def starts(self, draft: Draft, drafter: Drafter) -> bool:
        assert not draft.tokens
        self.notes.append(("starts", drafter.kind, draft.limit))
        return self.dice.random() < 0.8

    def more(self, draft: Draft) -> bool:
        self.notes.append(("more", tuple(draft.tokens)))
        # a pass of another size gives other last bits
        self.notes += [round(c, 3) for c in draft.confidences]
        return self.dice.random() < 0.8

    def prefers(self, draft: Draft, other: Drafter) -> bool:
        self.notes.append(("prefers", tuple(draft.tokens), other.kind))
        return self.dice.random() < 0.5

    def allot(self, drafts: list[Draft]) -> list[int]:
        self.notes += [("allot", d.kind, tuple(d.tokens)) for d in drafts]
        return [self.dice.randint(0, len(d.tokens)) for d in drafts]

    def observe(self, outcome: object) -> None:
        for v in outcome.verdicts:  # type: ignore[attr-defined]
            draft = v.draft
            told = (draft.kind, tuple(draft.tokens), tuple(draft.spare_tokens))
            self.notes.append(("observe", *told, v.n_tested, v.n_accepted))


def drafters_of(kind: str, target: LlamaContext, model: LlamaContext) -> list[Drafter]:
    model.memory.drop(0)
    chain: dict[str, list[Drafter]] = {
        "draft-model": [DraftModel(model, target.n_vocab)],
        "lookup": [LookupDrafter()],
        "both": [LookupDrafter(), DraftModel(model, target.n_vocab)],
    }
    return chain[kind]


@pytest.mark.parametrize("kind", ["draft-model", "lookup", "both"])
@pytest.mark.parametrize(
    "make", [NoDraft, lambda: FixedDepth(3), lambda: ThresholdDepth(6, 0.3), Dice]
)
def test_a_recorded_policy_decides_and_learns_as_ever(
    tiny: TinyModels, kind: str, make: type
) -> None:
    """Same rounds, same proposals verified, and the same questions and answers to the policy."""
    with opened(tiny("llama")) as target, opened(tiny("llama", Variant(eps=0.05))) as model:
        alone, inner = make(), make()
        expected = rounds(target, drafters_of(kind, target, model), alone)
        recorded = Recording(inner, n_ctx=target.n_ctx)
        found = rounds(target, drafters_of(kind, target, model), recorded)
        assert shape(found) == shape(expected)
        if isinstance(alone, Dice):
            assert inner.notes == alone.notes
            assert len(alone.notes) > 50


def recorded_answer(
    target: LlamaContext, model: LlamaContext, path: Path, inner: DepthPolicy | None = None
) -> Answer:
    """A recording under depth 3 or another policy, written as a trace and read again."""
    target.memory.drop(0)
    policy = Recording(inner or FixedDepth(3), n_ctx=target.n_ctx)
    engine = Engine(target, drafters_of("draft-model", target, model), policy, NO_END)
    sequence = engine.open(PROMPT, Sampler(PARAMS), 60)
    with TraceWriter(path, {"temperature": 1.0}) as out:
        out.prompt("p")
        for done in engine.stream(sequence):
            out.round(done)
            assert len(done.draft.tokens) <= 3
    engine.close(sequence, 1)
    (answer,) = recall(read_trace(path))
    return answer


@pytest.mark.parametrize("inner", [FixedDepth(3), NoDraft()])
def test_everything_is_known_afterwards(
    tiny: TinyModels, tmp_path: Path, inner: DepthPolicy
) -> None:
    """Drafts of 16 where a pass has room for ten rows; a replay then knows every place."""
    with opened(tiny("llama")) as target, opened(tiny("llama", Variant(eps=0.05))) as model:
        answer = recorded_answer(target, model, tmp_path / "t.jsonl", inner)
        plain = rounds(target, [], NoDraft())
    assert answer.tokens == [token for done in plain for token in done.tokens]
    # the first and the last token are never drafted: passes bring them
    assert all(answer.proposals[1:-1])
    assert 0.2 < (answer.acceptance or 0) < 1.0
    deepest = max(len(r.proposals) for p in read_trace(tmp_path / "t.jsonl") for r in p.rounds)
    assert deepest == 16


@pytest.mark.parametrize(
    "make", [NoDraft, lambda: FixedDepth(2), lambda: FixedDepth(6), lambda: ThresholdDepth(8, 0.02)]
)
def test_a_replay_runs_the_rounds_that_the_engine_runs(
    tiny: TinyModels, tmp_path: Path, make: type
) -> None:
    """The recording was made under another policy; pass by pass the rows are those of a real run."""
    with opened(tiny("llama")) as target, opened(tiny("llama", Variant(eps=0.05))) as model:
        answer = recorded_answer(target, model, tmp_path / "t.jsonl")
        real = rounds(target, drafters_of("draft-model", target, model), make())
    machine = load_machine("discrete-gpu")
    tally = Simulation(Arm.of(make(), machine, answer.kind), machine, [answer]).run()
    rows = [1 + len(done.draft.tokens) for done in real[1:]]
    assert tally.rows == rows
    assert max(rows) > 1 or make is NoDraft


def test_without_a_context_size_drafts_keep_within_a_pass(tiny: TinyModels) -> None:
    with opened(tiny("llama")) as target, opened(tiny("llama", Variant(eps=0.05))) as model:
        drafters = drafters_of("draft-model", target, model)
        found = rounds(target, drafters, Recording(FixedDepth(3)))
    assert max(done.draft.n_proposed for done in found) == target.n_outputs_max - 1


def test_the_end_of_the_context_is_kept(tiny: TinyModels) -> None:
    """The drafter's context is as long as the target's: a draft must not run past it."""
    with (
        opened(tiny("llama"), n_ctx=256) as target,
        opened(tiny("llama", Variant(eps=0.05)), n_ctx=256) as model,
    ):
        drafters = drafters_of("draft-model", target, model)
        found = rounds(target, drafters, Recording(FixedDepth(3), n_ctx=256), n=1000)
        assert found[-1].sequence.finish == "context"
        written = len(PROMPT)
        for done in found:
            assert written + done.draft.n_proposed < 256
            written += len(done.tokens)
