"""Drives a depth policy over recorded answers on a machine that is not here, under a simulated clock.

The same steps as `engine/loop.py`, with the shipped policies and the real look-up drafter; only the
two models are stand-ins: the target's text and the drafter's proposals come from a trace, and their
time from a machine's cost curve. The unit of time is a plain pass with one row.
"""

from copy import deepcopy
from dataclasses import dataclass, field

from localspec.batch import Batch
from localspec.bench.machines import Machine
from localspec.bench.proposals import Answer
from localspec.engine.depth import DepthPolicy, Outcome, Verdicts
from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.margin import MarginDepth
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.params import SamplingParams

_LOOKING_UP = 1e-4
"""What a look-up costs: some microseconds, where a pass takes dozens of milliseconds."""


class RecordedDrafter:
    """Proposes what the trace says its drafter did; stands in for a model (see `Drafter`).

    Args:
        machine: whose costs it has; where reading costs nothing there, it never falls behind.
        kind: its name.
    """

    at_once = False
    reads_states = False

    def __init__(self, machine: Machine, kind: str) -> None:
        self.kind = kind or "draft-model"
        self.relative_cost = machine.relative_level
        self._reads = machine.reading > 0
        self._answers: dict[int, Answer] = {}
        self._held: dict[int, int] = {}

    def knows(self, sequence: Sequence, answer: Answer) -> None:
        """This is what will be written in a sequence."""
        self._answers[sequence.seq_id] = answer

    def forget(self) -> None:
        """Let go of the answers."""
        self._answers.clear()

    def begin(self, sequence: Sequence) -> None:
        self._held[sequence.seq_id] = 0

    def n_behind(self, sequence: Sequence) -> int:
        n = len(sequence.tokens) - self._held[sequence.seq_id]
        return n if self._reads else min(n, 2)

    def process(self, batch: Batch) -> None:
        """Nothing: it reads the text alone."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        grown = []
        for d in drafts:
            s = d.sequence
            proposal = self._answers[s.seq_id].after(s.n_generated, d.tokens)
            self._held[s.seq_id] = len(s.tokens) + len(d.tokens)
            if proposal is not None:
                d.propose(proposal.token, proposal.confidence)
                grown.append(d)
        return grown

    def accept(self, draft: Draft, n_accepted: int) -> None:
        s = draft.sequence
        self._held[s.seq_id] = min(self._held[s.seq_id], len(s.tokens) - 1)

    def end(self, sequence: Sequence) -> None:
        return None


@dataclass(slots=True)
class Arm:
    """A policy with its drafters: what one arm of a benchmark keeps from prompt to prompt.

    Attributes:
        policy: decides draft lengths.
        model: stands in for the drafter model.
        drafters: whom the loop asks, in order.
    """

    policy: DepthPolicy
    model: RecordedDrafter
    drafters: list[Drafter]

    @classmethod
    def of(cls, policy: DepthPolicy, machine: Machine, kind: str) -> "Arm":
        """An arm as `Runtime.use` makes it: a policy that learns may look up beside the model."""
        model = RecordedDrafter(machine, kind)
        looks_up = isinstance(policy, MarginDepth)
        return cls(policy, model, [LookupDrafter(), model] if looks_up else [model])

    def copy(self) -> "Arm":
        """Another one that knows the same."""
        self.policy.plan([])
        self.model.forget()
        return deepcopy(self)


@dataclass(slots=True)
class Tally:
    """What a simulation came to.

    Attributes:
        tokens: written after the first of each answer, which comes with the prompt.
        seconds: simulated time, in plain passes.
        rows: rows of each pass.
    """

    tokens: int = 0
    seconds: float = 0.0
    rows: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Tokens a plain pass."""
        return self.tokens / self.seconds if self.seconds else 1.0


class Simulation:
    """Answers written side by side, one a lane; a lane that is through begins its answer again.

    Args:
        arm: who drafts and decides.
        machine: what it costs.
        answers: one a lane, each with two tokens or more.
    """

    def __init__(self, arm: Arm, machine: Machine, answers: list[Answer]) -> None:
        self._arm, self._machine, self._answers = arm, machine, answers
        self.tally = Tally()
        self._sequences = [self._opened(i) for i in range(len(answers))]

    def run(self) -> Tally:
        """Until the first lane is through."""
        while not any(self._through(i) for i in range(len(self._answers))):
            self._round()
        return self.tally

    def run_for(self, seconds: float) -> Tally:
        """Until so much time has passed."""
        while self.tally.seconds < seconds:
            self._round()
            for i in range(len(self._answers)):
                if self._through(i):
                    self._sequences[i] = self._opened(i)
        return self.tally

    def _opened(self, lane: int) -> Sequence:
        answer = self._answers[lane]
        prompt = answer.prompt_tokens
        sampler = Sampler(SamplingParams(temperature=answer.temperature))
        s = Sequence(lane, list(prompt), sampler, len(answer.tokens), len(prompt))
        self._arm.model.knows(s, answer)
        # both models read alike for their size
        n, level = len(prompt), self._machine.level
        self._arm.policy.prefilled(n, n * self._machine.reading / level if level else 0.0)
        for drafter in self._arm.drafters:
            drafter.begin(s)
        s.n_past = len(s.tokens)
        s.tokens.append(answer.tokens[0])
        return s

    def _through(self, lane: int) -> bool:
        return self._sequences[lane].n_generated >= len(self._answers[lane].tokens)

    def _round(self) -> None:
        drafts = self._draft()
        n_rows = sum(1 + len(d.tokens) for d in drafts)
        verify_s = self._machine.pass_s(n_rows)
        verdicts = [self._settle(d) for d in drafts]
        self.tally.seconds += verify_s
        self.tally.rows.append(n_rows)
        n_cells = sum(len(d.sequence.tokens) for d in drafts)
        self._arm.policy.observe(Outcome(n_rows, n_cells, verify_s, verdicts))

    def _draft(self) -> list[Draft]:
        policy, drafters = self._arm.policy, self._arm.drafters
        drafts = [Draft(s, self._limit(s)) for s in self._sequences]
        policy.plan(drafts)
        for i, drafter in enumerate(drafters):
            asked = [
                d for d in drafts if d.limit > 0 and not d.tokens and policy.starts(d, drafter)
            ]
            for d in asked:
                d.kind = drafter.kind
            self._grow(drafter, asked)
            for other in drafters[i + 1 : i + 2]:
                for j, d in enumerate(drafts):
                    if d.tokens and d in asked and not policy.prefers(d, other):
                        drafts[j] = Draft(d.sequence, d.limit)
        for d, n_worth in zip(drafts, policy.allot(drafts), strict=True):
            d.cut(n_worth)
        return drafts

    def _grow(self, drafter: Drafter, growing: list[Draft]) -> None:
        policy = self._arm.policy
        n_behind = sum(drafter.n_behind(d.sequence) for d in growing)
        while growing:
            grown = drafter.draft(growing)
            # A place that nobody proposed for ends a draft and is not charged.
            if not grown:
                return
            seconds = self._level_s(drafter, len(growing), n_behind)
            self.tally.seconds += seconds
            policy.drafted(drafter, len(growing), n_behind, seconds)
            growing = [d for d in grown if len(d.tokens) < d.limit and policy.more(d)]
            n_behind = len(growing)

    def _level_s(self, drafter: Drafter, n_sequences: int, n_behind: int) -> float:
        if drafter is not self._arm.model:
            return _LOOKING_UP
        read = max(n_behind - 2 * n_sequences, 0) * self._machine.reading
        return self._machine.level_s(n_sequences) + read

    def _limit(self, s: Sequence) -> int:
        left = len(self._answers[s.seq_id].tokens) - s.n_generated - 1
        return max(0, min(self._arm.policy.max_depth, left))

    def _settle(self, draft: Draft) -> Verdicts:
        s = draft.sequence
        answer, place = self._answers[s.seq_id], s.n_generated
        n = 0
        while n < len(draft.tokens) and draft.tokens[n] == answer.tokens[place + n]:
            n += 1
        new = answer.tokens[place : place + n + 1]
        s.tokens += new
        s.n_past = len(s.tokens) - 1
        self.tally.tokens += len(new)
        for drafter in self._arm.drafters:
            drafter.accept(draft, n)
        return Verdicts(draft, min(n + 1, len(draft.tokens)), n, new)
