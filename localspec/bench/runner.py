"""Runs arms × prompts so that they can be compared.

Within a prompt all arms, and all repeats, run in a random order that the seed fixes, so whatever changes
slowly (heat, other processes) hits them alike; the same plain answer before and after everything shows how
much it was. What is finished counts, whenever the run is ended.
"""

import random
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any

from localspec.bench.answering import Answer, Answering, added
from localspec.bench.arm_names import AUTO, PEER, PLAIN
from localspec.bench.arms import Arm
from localspec.bench.asking import Answerer, PeerAnswer, ask
from localspec.bench.machine import (
    file_facts,
    machine_facts,
    peak_memory_bytes,
    trace_header,
)
from localspec.bench.suite import BenchPrompt
from localspec.bench.summary import summarise
from localspec.engine.depth import FixedDepth
from localspec.engine.margin import MarginDepth
from localspec.engine.sequence import common_prefix
from localspec.errors import LocalspecError
from localspec.events import Notice
from localspec.pair import DrafterKind
from localspec.params import SamplingParams
from localspec.results import LEAST_TOKENS, BenchReport, PositionCounts, Run
from localspec.runtime import Runtime
from localspec.store.header import Header
from localspec.trace import TraceWriter

_WARM_UP_TOKENS, _WARM_UP_DEPTH = 16, 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How answers are measured.

    Attributes:
        sampling: how tokens are chosen; the same seed for every answer.
        n_tokens: most tokens of an answer.
        repeat: times each prompt is answered by each arm.
        record_all: let drafters propose to full depth; times are then no arm's own.
        facts: more settings for the report.
    """

    sampling: SamplingParams
    n_tokens: int
    repeat: int = 1
    record_all: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a benchmark is.

    Attributes:
        done: answers finished.
        total: answers in all.
        prompt_id: what is being answered.
        arm: by whom.
        left_s: seconds that the rest will take at the present pace; None while that is not known.
    """

    done: int
    total: int
    prompt_id: str
    arm: str
    left_s: float | None


@dataclass(slots=True)
class _Finished:
    arm: str
    repeat: int
    answer: Answer | PeerAnswer


class Bench:
    """One benchmark; `run` it, and ask for the `report` at any time.

    Args:
        runtime: the opened models.
        arms: who answers; plain is among them.
        prompts: what is answered.
        plan: how.
        peer: another server as one more arm.

    Attributes:
        trace: where rounds are written; None for nowhere.
        notices: what the user should know.
        failure: what made the peer drop out; None if nothing did.

    Raises:
        LocalspecError: no prompt fits into the context, or the template refuses one.
    """

    def __init__(
        self,
        runtime: Runtime,
        arms: list[Arm],
        prompts: list[BenchPrompt],
        plan: Plan,
        peer: Answerer | None = None,
    ) -> None:
        self._runtime = runtime
        self._arms = {arm.name: arm for arm in arms}
        self._plan = plan
        self._peer = self._given_peer = peer
        self.trace: TraceWriter | None = None
        self._answering = Answering(
            runtime, plan.sampling, plan.n_tokens, record_all=plan.record_all
        )
        self.notices: list[Notice] = []
        self.failure: LocalspecError | None = None
        if plan.record_all:
            self.notices.append(
                Notice(
                    "The drafter proposes to full depth each round, for the trace: times and × plain"
                    " are no arm's own.",
                    "To measure: without --trace-full",
                )
            )
        self._prompts = self._fitting(prompts)
        self._machine = machine_facts(runtime)
        self._names = [*self._arms, *([PEER] if peer else [])]
        self._runs: list[Run] = []
        self._tests: dict[str, tuple[int, int]] = {}
        self._positions: dict[str, PositionCounts] = {}
        self._drift: float | None = None
        self._done = 0
        self._total = len(self._prompts) * len(self._names) * plan.repeat + 2
        self._started = perf_counter()

    def run(self) -> Generator[Progress, None, None]:
        """Answer everything; yields at least once a round. Closing the generator ends the run.

        Raises:
            LocalspecError: an answer failed; what was finished before is in the report.
        """
        yield from self._warm_up()
        self._started = perf_counter()
        before = yield from self._plain_rate()
        for prompt in self._prompts:
            yield from self._all_arms(prompt)
        after = yield from self._plain_rate()
        if before and after:
            self._drift = after / before

    def report(self) -> BenchReport:
        """What was measured so far."""
        runtime, plan = self._runtime, self._plan
        header = runtime.drafter_header
        kinds = {arm.kind for arm in self._arms.values()}
        seed = plan.sampling.seed
        return BenchReport(
            machine=self._machine,
            model=file_facts(runtime.header),
            drafter=_drafter_facts(header, kinds),
            settings={
                **plan.facts,
                "arms": self._names,
                **({"peer": self._given_peer.facts} if self._given_peer else {}),
                "prompts": len(self._prompts),
                "tokens": plan.n_tokens,
                "temperature": plan.sampling.temperature,
                "seed": seed,
                "repeat": plan.repeat,
                "numerics": runtime.numerics,
                "ctx": runtime.engine.target.n_ctx,
                "max_depth": runtime.max_depth,
                "complete": self._done == self._total and self.failure is None,
            },
            runs=list(self._runs),
            summary=summarise(
                self._runs, self._names, self._tests, seed, positions=self._positions
            ),
            peak_memory_bytes=peak_memory_bytes(),
            drift=self._drift,
            calibration_error=self._calibration_error(),
        )

    def trace_header(self) -> dict[str, Any]:
        """What a trace says of its origin."""
        plan = self._plan
        return trace_header(self._runtime, plan.sampling, self._machine, full=plan.record_all)

    def _fitting(self, prompts: list[BenchPrompt]) -> list[BenchPrompt]:
        needed = [self._answering.fits(prompt) for prompt in prompts]
        n_ctx = self._runtime.engine.target.n_ctx
        too_long = {p.prompt_id: n for p, n in zip(prompts, needed, strict=True) if n is not None}
        if len(too_long) == len(prompts):
            raise LocalspecError(
                f"All prompts are longer than the context of {n_ctx} tokens.",
                f"Try --ctx {max(too_long.values())}, or a smaller -n",
            )
        if too_long:
            names = ", ".join(too_long)
            self.notices.append(
                Notice(
                    f"Left out, since too long for the context of {n_ctx} tokens: {names}.",
                    f"To have all: --ctx {max(too_long.values())}",
                )
            )
        return [p for p in prompts if p.prompt_id not in too_long]

    def _warm_up(self) -> Iterator[Progress]:
        """Read the weights and wake the threads, with policies of their own that nobody else sees."""
        prompt = self._prompts[0]
        kinds = {arm.kind for arm in self._arms.values()}
        for wanted in ({"none"}, kinds - {"none", "lookup"}):
            fixed = next((a for a in self._arms.values() if a.kind in wanted), None)
            if fixed is not None:
                throwaway = Arm("warm-up", fixed.kind, FixedDepth(_WARM_UP_DEPTH))
                for _ in self._answering.answer(prompt, throwaway, _WARM_UP_TOKENS):
                    yield self._progress(prompt, "warm-up")

    def _plain_rate(self) -> Generator[Progress, None, float | None]:
        """Rate of plain decoding on the first prompt, for the drift; None if it says nothing."""
        prompt = self._prompts[0]
        answer = Answer()
        for so_far in self._answering.answer(prompt, self._arms[PLAIN]):
            answer = so_far
            yield self._progress(prompt, PLAIN)
        self._done += 1
        return answer.tokens_per_s if len(answer.ids) >= LEAST_TOKENS else None

    def _all_arms(self, prompt: BenchPrompt) -> Iterator[Progress]:
        """All arms and repeats on a prompt; what is finished is booked, however it ends."""
        order = [(name, i) for name in self._names for i in range(self._plan.repeat)]
        random.Random(f"{self._plan.sampling.seed} {prompt.prompt_id}").shuffle(order)
        finished: list[_Finished] = []
        try:
            for name, repeat in order:
                if name != PEER:
                    answer = yield from self._own(prompt, self._arms[name])
                    finished.append(_Finished(name, repeat, answer))
                elif self._peer is not None:
                    reply = yield from self._theirs(self._peer, prompt)
                    finished += [_Finished(name, repeat, reply)] if reply else []
                self._done += 1
        finally:
            self._book(prompt, finished)

    def _own(self, prompt: BenchPrompt, arm: Arm) -> Generator[Progress, None, Answer]:
        if self.trace is not None:
            self._answering.on_round = self.trace.listener(
                _turn_ids(prompt), prompt.prompt_class, arm.name
            )
        answer = Answer()
        try:
            for so_far in self._answering.answer(prompt, arm):
                answer = so_far
                yield self._progress(prompt, arm.name)
        finally:
            self._answering.on_round = None
        return answer

    def _theirs(
        self, peer: Answerer, prompt: BenchPrompt
    ) -> Generator[Progress, None, PeerAnswer | None]:
        """What a peer answers to all turns; a peer that fails drops out, and all else goes on."""
        reply: PeerAnswer | None = None
        yield self._progress(prompt, PEER)
        try:
            with closing(ask(peer, prompt, self._plan.n_tokens, self._plan.sampling)) as asking:
                for so_far in asking:
                    reply = so_far
                    yield self._progress(prompt, PEER)
        except LocalspecError as error:
            self.failure, self._peer = error, None
            return None
        return reply

    def _book(self, prompt: BenchPrompt, finished: list[_Finished]) -> None:
        plain = next(
            (f.answer for f in finished if f.arm == PLAIN and isinstance(f.answer, Answer)), None
        )
        for one in finished:
            answer = one.answer
            if isinstance(answer, Answer):
                tested, accepted = self._tests.get(one.arm, (0, 0))
                self._tests[one.arm] = (tested + answer.tested, accepted + answer.accepted)
                known = self._positions.get(one.arm, [])
                self._positions[one.arm] = added(known, answer.positions)
                self._runs.append(_own_run(prompt, one, answer, plain.ids if plain else None))
            else:
                same = self._same_text(answer, plain)
                self._runs.append(_peer_run(prompt, one, answer, same))

    def _same_text(self, reply: PeerAnswer, plain: Answer | None) -> bool | None:
        """Whether a peer's text is ours but for space around it; None where that says nothing."""
        if plain is None or self._plan.sampling.temperature > 0:
            return None
        return reply.text.strip() == plain.text.strip()

    def _progress(self, prompt: BenchPrompt, arm: str) -> Progress:
        left = None
        if self._done:
            pace = (perf_counter() - self._started) / self._done
            left = pace * (self._total - self._done)
        return Progress(self._done, self._total, prompt.prompt_id, arm, left)

    def _calibration_error(self) -> float | None:
        policy = self._arms[AUTO].policy if AUTO in self._arms else None
        if not isinstance(policy, MarginDepth):
            return None
        errors = [e for c in policy.calibrations.values() if (e := c.error) is not None]
        return sum(errors) / len(errors) if errors else None


def _drafter_facts(header: Header | None, kinds: set[DrafterKind]) -> dict[str, Any] | None:
    """Who drafted: a model, or the text alone; None if no arm had a drafter."""
    if header is not None and kinds - {"none", "lookup"}:
        return file_facts(header)
    if "mtp" in kinds:
        return {"name": "MTP head in the target's file"}
    return None if kinds == {"none"} else {"name": "look-up in the text"}


def _turn_ids(prompt: BenchPrompt) -> Iterator[str]:
    """Names of a prompt's turns; in a trace each is a text of its own."""
    yield prompt.prompt_id
    for n in count(2):
        yield f"{prompt.prompt_id} turn {n}"


def _own_run(prompt: BenchPrompt, one: _Finished, answer: Answer, plain: list[int] | None) -> Run:
    n_common = 0 if plain is None else common_prefix(plain, answer.ids)
    identical = None if plain is None else plain == answer.ids
    return Run(
        prompt_id=prompt.prompt_id,
        prompt_class=prompt.prompt_class,
        arm=one.arm,
        repeat=one.repeat,
        tokens=len(answer.ids),
        tokens_per_s=answer.tokens_per_s,
        acceptance_rate=answer.acceptance_rate,
        tokens_per_round=answer.tokens_per_round,
        ttft_s=answer.ttft_s or 0.0,
        identical_to_plain=identical,
        first_divergence=n_common if identical is False else None,
    )


def _peer_run(
    prompt: BenchPrompt, one: _Finished, answer: PeerAnswer, same_text: bool | None
) -> Run:
    return Run(
        prompt_id=prompt.prompt_id,
        prompt_class=prompt.prompt_class,
        arm=one.arm,
        repeat=one.repeat,
        tokens=answer.tokens,
        tokens_per_s=answer.tokens_per_s,
        acceptance_rate=None,
        tokens_per_round=None,
        ttft_s=answer.ttft_s,
        identical_to_plain=None,
        first_divergence=None,
        same_text=same_text,
    )
