"""One prompt answered under one arm: the conversation, and what was measured of it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import zip_longest
from time import perf_counter

from localspec.bench.arms import Arm
from localspec.bench.suite import BenchPrompt
from localspec.engine.loop import Round
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.errors import LocalspecError
from localspec.events import Finished, PrefillProgress, RoundDone
from localspec.messages import Message
from localspec.params import SamplingParams
from localspec.results import LEAST_TOKENS, PositionCounts
from localspec.runtime import Runtime
from localspec.session import AnswerLimits, Session

_UNWRITTEN = "…"
"""Stands for an answer that is not there yet, where only the length of the rest is asked for."""


@dataclass(slots=True)
class Answer:
    """All turns of a prompt under one arm; counts and seconds are sums over the turns.

    Attributes:
        ids: token ids of the answers, one after the other.
        n_decoded: tokens of the decode phase.
        decode_s: its seconds, drafting included.
        rounds: verify passes.
        tested: proposals compared with a pick.
        accepted: proposals kept.
        ttft_s: from sending the first turn to its first token; None if there is none.
        text: the answers without thoughts, an empty line between.
        positions: for each position in a draft the proposals tested and accepted there.
    """

    ids: list[int] = field(default_factory=list)
    n_decoded: int = 0
    decode_s: float = 0.0
    rounds: int = 0
    tested: int = 0
    accepted: int = 0
    ttft_s: float | None = None
    text: str = ""
    positions: PositionCounts = field(default_factory=list)

    @property
    def tokens_per_s(self) -> float | None:
        """Rate of the decode phase; None without one."""
        return self.n_decoded / self.decode_s if self.decode_s else None

    @property
    def acceptance_rate(self) -> float | None:
        """accepted / tested; None if nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_round(self) -> float | None:
        """Tokens of the decode phase per verify pass; None without one."""
        return self.n_decoded / self.rounds if self.rounds else None

    def add(self, finished: Finished) -> None:
        """Take in a turn."""
        speculation = finished.speculation
        self.text += ("\n\n" if self.ids else "") + finished.text
        self.ids += finished.token_ids
        self.n_decoded += round((speculation.tokens_per_round or 0.0) * speculation.rounds)
        self.decode_s += finished.timing.decode_s
        self.rounds += speculation.rounds
        self.tested += speculation.tested
        self.accepted += speculation.accepted

    def count(self, n_drafted: int, n_accepted: int) -> None:
        """Take in a round's draft; what comes after the first rejection was not tested."""
        tests = [(1, int(i < n_accepted)) for i in range(min(n_drafted, n_accepted + 1))]
        self.positions = added(self.positions, tests)


class Answering:
    """Writes answers on an opened runtime, all under the same limits.

    Args:
        runtime: the opened models.
        sampling: how tokens are chosen; the same seed for every answer.
        n_tokens: most tokens of an answer.
        record_all: let drafters propose to full depth, for a trace.

    Attributes:
        on_round: told of each round of the answers that follow; None for nobody.
    """

    def __init__(
        self,
        runtime: Runtime,
        sampling: SamplingParams,
        n_tokens: int,
        *,
        record_all: bool = False,
    ) -> None:
        self.runtime = runtime
        self.sampling = sampling
        self.n_tokens = n_tokens
        self._record_all = record_all
        self.on_round: Callable[[Round], None] | None = None

    def answer(
        self, prompt: BenchPrompt, arm: Arm, n_tokens: int | None = None
    ) -> Iterator[Answer]:
        """Answer all turns of a prompt; yields what there is of it after each event.

        The prompt is read afresh by target and drafters, whatever they answered before. Closing the
        generator ends the answer.

        Args:
            prompt: what to answer.
            arm: who drafts.
            n_tokens: most tokens of an answer, if not as always.

        Raises:
            LocalspecError: a turn does not fit into the context, or the template refuses it.
        """
        self._forget()
        arm.take_over(self.runtime, record_all=self._record_all)
        limits = AnswerLimits(n_tokens or self.n_tokens)
        session = Session(self.runtime, self.sampling, limits, prompt.system)
        session.on_round = self.on_round
        answer = Answer()
        raw = ""
        for turn in prompt.turns:
            started = perf_counter()
            if self.runtime.has_template:
                session.messages.extend(turn[:-1])
                events = session.send(turn[-1].content)
            else:
                raw += _raw(turn if raw or not prompt.system else _opening(prompt))
                events = session.complete(raw)
            with closing(events):  # type: ignore[type-var]
                for event in events:
                    if isinstance(event, RoundDone):
                        answer.ttft_s = answer.ttft_s or perf_counter() - started
                        answer.count(event.n_drafted, event.n_accepted)
                    # not at a session's very first event: it could not be closed there
                    if not isinstance(event, PrefillProgress) or event.done > event.cached:
                        yield answer
            assert session.last is not None
            answer.add(session.last)
            raw += session.last.text + "\n\n"
        yield answer

    def fits(self, prompt: BenchPrompt) -> int | None:
        """None if a prompt fits into the context, else the tokens it needs: all its turns, whole
        answers to all but the last, and enough of that one to be measured."""
        n_answers = len(prompt.turns) - 1
        least = n_answers * self.n_tokens + min(self.n_tokens, LEAST_TOKENS)
        try:
            needed = self._n_prompt(prompt) + least
        except LocalspecError as error:
            raise LocalspecError(
                f"The template refuses the prompt {prompt.prompt_id}: {error.message}", error.hint
            ) from error
        return needed if needed > self.runtime.engine.target.n_ctx else None

    def _n_prompt(self, prompt: BenchPrompt) -> int:
        vocab = self.runtime.vocab
        if not self.runtime.has_template:
            text = "".join(_raw(turn) for turn in prompt.turns) + (prompt.system or "")
            return len(vocab.tokenize(text, add_bos=True, parse_special=True))
        template, _ = self.runtime.chat()
        messages = [Message("system", prompt.system)] if prompt.system else []
        for i, turn in enumerate(prompt.turns):
            messages += [Message("assistant", _UNWRITTEN)] if i else []
            messages += turn
        rendered = template.render(messages)
        return len(vocab.tokenize(rendered, add_bos=True, parse_special=True))

    def _forget(self) -> None:
        """Have target and drafters read the next prompt themselves."""
        self.runtime.engine.forget()
        # A text of a single token has nothing in common with any that is remembered.
        nothing = Sequence(0, [0], Sampler(self.sampling), n_prompt=1)
        for drafter in self.runtime.drafters.values():
            drafter.begin(nothing)


def added(one: PositionCounts, other: PositionCounts) -> PositionCounts:
    """The counts of both, position by position."""
    pairs = zip_longest(one, other, fillvalue=(0, 0))
    return [(a + c, b + d) for (a, b), (c, d) in pairs]


def _opening(prompt: BenchPrompt) -> tuple[Message, ...]:
    return (Message("system", prompt.system or ""), *prompt.turns[0])


def _raw(turn: tuple[Message, ...]) -> str:
    return "".join(message.content + "\n\n" for message in turn)
