"""One conversation: messages -> template -> tokens -> engine -> text, thought and figures.

A session owns the history and turns rounds of token ids into events. It knows neither files nor
terminals: `runtime.py` opens what it runs on, `ui/` draws what it yields.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.answer import Answer
from localspec.chat import transcript
from localspec.chat.format import ChatFormat
from localspec.chat.generic_tools import described, in_words
from localspec.chat.reply import reader_of
from localspec.chat.stops import StopStrings
from localspec.chat.template import ChatTemplate
from localspec.chat.untrusted import guarded
from localspec.engine.loop import Round
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.errors import LocalspecError, UsageError
from localspec.events import (
    AnswerEvent,
    Finished,
    FinishReason,
    LiveNumbers,
    PrefillProgress,
    RoundDone,
    Speculation,
    Timing,
)
from localspec.grammar.answers import answer_grammar
from localspec.grammar.calls import ToolChoice, call_grammar
from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.held import Held
from localspec.messages import Message
from localspec.params import SamplingParams
from localspec.runtime import Runtime
from localspec.tools.calling import RepeatGuard
from localspec.tooluse import ToolUse, answer_calls


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """What ends an answer besides the model itself.

    Attributes:
        max_tokens: most tokens of an answer; None for no limit but the context.
        stops: texts that end it, and are left out of it.
    """

    max_tokens: int | None = None
    stops: tuple[str, ...] = ()


_LONG = 32
"""Characters of a token, more than there are in any usual text."""


class Session:
    """A conversation on an opened runtime.

    Args:
        runtime: models, engine and template; it must stay open as long as the session is used.
        sampling: how tokens are chosen; its seed fixes every answer.
        limits: what ends an answer early.
        system: system prompt, None for none.
        think: whether the model thinks before it answers, where its template can be told; None for its default.
        held: what each answer is held to; None for nothing.
        tools: what the model may call; None for nothing.

    Attributes:
        sampling: how the tokens of the next answer are chosen.
        on_round: told of each round as soon as it is done, before its events; None for nobody.
            What it raises ends the answer.
    """

    def __init__(
        self,
        runtime: Runtime,
        sampling: SamplingParams,
        limits: AnswerLimits | None = None,
        system: str | None = None,
        think: bool | None = None,
        held: Held | None = None,
        tools: ToolUse | None = None,
    ) -> None:
        self.runtime = runtime
        self._extras = {} if think is None else {"enable_thinking": think}
        self.on_round: Callable[[Round], None] | None = None
        self.sampling = sampling
        self._limits = limits or AnswerLimits()
        self.system = system
        self._held = held
        self._tools = tools
        self.messages: list[Message] = []
        self.last: Finished | None = None
        self._written: tuple[str, list[int]] = ("", [])

    def send(self, text: str) -> Iterator[AnswerEvent]:
        """Say something and stream the answer.

        Closing the generator stops the answer; what came so far stays in the conversation. If nothing
        came, the question is taken back too.

        Raises:
            LocalspecError: the prompt does not fit, or the template refuses it.
        """
        self._check_length(text)
        self.messages.append(Message("user", text))
        n_before = len(self.messages)
        try:
            yield from self._exchange()
        finally:
            if len(self.messages) == n_before:
                self.messages.pop()

    def regenerate(self) -> Iterator[AnswerEvent]:
        """Answer the last question again, with another seed.

        Raises:
            UsageError: there is no question yet.
        """
        asked = [i for i, message in enumerate(self.messages) if message.role == "user"]
        if not asked:
            raise UsageError("There is nothing to answer again yet.", "Ask something first.")
        question = self.messages[asked[-1]].content
        former = self.messages[asked[-1] :]
        del self.messages[asked[-1] :]
        self.sampling = replace(self.sampling, seed=self.sampling.seed + 1)
        n_before = len(self.messages)
        try:
            yield from self.send(question)
        finally:
            if len(self.messages) == n_before:
                self.messages += former

    def complete(self, prompt: str) -> Iterator[AnswerEvent]:
        """Continue a text as it is, without a template and outside the conversation."""
        self._check_length(prompt)
        tokens = self.runtime.vocab.tokenize(prompt, add_bos=True, parse_special=True)
        constraint = None
        if self._held is not None:
            constraint = GrammarConstraint(self.runtime.grammar_tokens, self._held.grammar)
        answer = Answer(reader_of(ChatFormat()), StopStrings(self._limits.stops))
        yield from self._run(tokens, answer, constraint)

    def reset(self) -> None:
        """Forget the conversation and its figures; the system prompt stays."""
        self.messages.clear()
        self.last = None

    def save(self, path: Path) -> None:
        """Write the conversation as OpenAI messages."""
        transcript.save(path, self._with_system())

    def load(self, path: Path) -> None:
        """Take up a conversation from a file; its system prompt replaces the present one."""
        messages = transcript.load(path)
        if messages and messages[0].role == "system":
            self.system = messages[0].content
            messages = messages[1:]
        self.messages = messages
        self.last = None

    def _with_system(self) -> list[Message]:
        system = [Message("system", self.system)] if self.system else []
        return system + self.messages

    def _exchange(self) -> Iterator[AnswerEvent]:
        """Answers and calls in turn, until an answer makes no call."""
        use, guard = self._tools, RepeatGuard()
        if use is None:
            yield from self._answer(None)
            return
        for n in range(use.most_rounds + 1):
            yield from self._answer(use.choice_in(n))
            calls = self.messages[-1].tool_calls
            if not (calls and use.runs and self.last and self.last.reason == "tool_calls"):
                return
            yield from answer_calls(calls, use, guard, self.messages)

    def _answer(self, choice: ToolChoice | None) -> Iterator[AnswerEvent]:
        """One answer of the model, which may end with calls.

        Args:
            choice: whether it may call; None where there are no tools.
        """
        template, form = self.runtime.chat()
        prompt, guard = self._prompt(template, form)
        tokens = self._tokenize(prompt, guard, add_bos=not template.starts_with_bos(prompt))
        said = form.opened_by(prompt)
        callable_now = self._tools is not None and choice is not None and choice.mode != "none"
        reader = reader_of(form, self._tools.toolbox.specs if self._tools and callable_now else ())
        reader.feed(said)
        reply = Answer(reader, StopStrings(self._limits.stops))
        constraint = yield from self._constraint(form, choice, said)
        try:
            yield from self._run(tokens, reply, constraint)
        finally:
            if reply.ids:
                self.messages.append(reply.message())
            if reply.ids and not reply.reasoning and not reply.stopped:
                self._written = (prompt + "".join(reply.written), tokens + reply.ids)

    def _prompt(self, template: ChatTemplate, form: ChatFormat) -> tuple[str, str]:
        """The prompt, and the guard in it (see `untrusted.guarded`)."""
        specs = self._tools.toolbox.specs if self._tools else ()
        messages, guard = self._with_system(), ""
        if any(message.role == "tool" for message in messages):
            messages, guard = guarded(messages, self.runtime.markers)
        if specs and not template.abilities.tools:
            messages, specs = described(messages, specs, form.calls), ()
        if not template.abilities.calls:
            messages = in_words(messages, form.calls)
        return template.render(messages, tools=specs, extras=self._extras), guard

    def _constraint(
        self, form: ChatFormat, choice: ToolChoice | None, said: str
    ) -> Generator[AnswerEvent, None, GrammarConstraint | None]:
        """What the answer is held to; says what it cannot be held to."""
        use, tokens = self._tools, None
        if self._held is not None and (choice is None or choice.mode != "required"):
            tokens = self.runtime.grammar_tokens
            return GrammarConstraint(tokens, answer_grammar(form, self._held.grammar, tokens), said)
        if use is None or choice is None or not (use.held or choice.mode == "required"):
            return None
        tokens = self.runtime.grammar_tokens
        made = call_grammar(form, use.toolbox.specs, choice, tokens)
        yield from made.notices
        return GrammarConstraint(tokens, made.source, said)

    def _tokenize(self, prompt: str, guard: str, *, add_bos: bool) -> list[int]:
        """Ids of a prompt; what the model wrote itself keeps the ids it was written with.

        A sampled text is often not what the tokenizer would make of it, and other ids for it would
        have to be read again.
        """
        text, known = self._written
        if text and prompt.startswith(text):
            ids, prompt, add_bos = list(known), prompt[len(text) :], False
        else:
            ids = []
        for part in prompt.split(guard) if guard else [prompt]:
            ids += self.runtime.vocab.tokenize(part, add_bos=add_bos, parse_special=True)
            add_bos = False
        return ids

    def _run(
        self, tokens: list[int], reply: Answer, constraint: GrammarConstraint | None
    ) -> Iterator[AnswerEvent]:
        """Generate on `tokens` until something ends it, and account for it."""
        engine = self.runtime.engine
        self._check_size(len(tokens))
        sampler = Sampler(self.sampling, self.runtime.vocab.suppressed)
        sequence = engine.open(tokens, sampler, self._limits.max_tokens, constraint)
        try:
            yield PrefillProgress(sequence.n_cached, sequence.n_prompt, sequence.n_cached)
            for done in engine.stream(sequence):
                if self.on_round is not None:
                    self.on_round(done)
                yield from self._text_of(done, reply)
                if reply.stopped:
                    break
            yield from reply.finish()
        finally:
            engine.close(sequence, sequence.n_prompt + len(reply.ids))
            reason: FinishReason = "stop" if reply.stopped else sequence.finish or "cancelled"
            if reason == "stop" and reply.calls:
                reason = "tool_calls"
            self.last = self._finished(reason, sequence, reply)
        yield self.last

    def _text_of(self, done: Round, reply: Answer) -> Iterator[AnswerEvent]:
        sequence = done.sequence
        if not done.tokens:
            yield PrefillProgress(sequence.n_past, sequence.n_prompt, sequence.n_cached)
            return
        for i, token in enumerate(done.tokens):
            if token in self.runtime.vocab.ends:
                break
            reply.ids.append(token)
            yield from reply.feed(self.runtime.vocab.piece(token), i < done.n_accepted)
            if reply.stopped:
                break
        reply.drafted_rounds += bool(done.draft.tokens)
        yield RoundDone(len(done.draft.tokens), done.n_accepted, self._live(sequence, reply))

    def _check_size(self, n_tokens: int, *, at_least: bool = False) -> None:
        n_ctx = self.runtime.engine.target.n_ctx
        if n_tokens == 0:
            raise LocalspecError(
                "Nothing is left of the prompt: the template, or the model's tokenizer, made it empty.",
                "Name another template with --template, or use none: --raw",
            )
        if n_tokens >= n_ctx:
            room = self.runtime.n_ctx_train
            larger = f"--ctx {min(2 * n_tokens, room)}" if n_tokens < room else "a shorter prompt"
            raise LocalspecError(
                f"The prompt has {'at least ' if at_least else ''}{n_tokens} tokens and the context"
                f" holds {n_ctx}.",
                f"Try {larger}",
            )

    def _check_length(self, text: str) -> None:
        """Refuse a text that is far too long by its beginning: all of it may take minutes to tokenize."""
        head = text[: _LONG * self.runtime.engine.target.n_ctx]
        if len(head) < len(text):
            ids = self.runtime.vocab.tokenize(head, add_bos=False, parse_special=True)
            self._check_size(len(ids), at_least=True)

    def _live(self, sequence: Sequence, reply: Answer) -> LiveNumbers:
        stats = sequence.stats
        return LiveNumbers(
            tokens_per_s=stats.recent_tokens_per_s,
            acceptance_rate=stats.acceptance_rate,
            tokens_per_round=stats.tokens_per_round,
            times_plain=stats.times_plain,
            context_used=len(sequence.tokens),
            context_size=self.runtime.engine.target.n_ctx,
            rounds=stats.rounds,
            drafted_rounds=reply.drafted_rounds,
        )

    def _finished(self, reason: FinishReason, sequence: Sequence, reply: Answer) -> Finished:
        stats = sequence.stats
        message = reply.message()
        return Finished(
            reason=reason,
            text=message.content,
            reasoning=message.reasoning,
            tool_calls=message.tool_calls,
            token_ids=tuple(reply.ids),
            prompt_tokens=sequence.n_prompt,
            cached_tokens=sequence.n_cached,
            seed=self.sampling.seed,
            timing=Timing(
                load_s=self.runtime.load_s,
                prefill_s=stats.prefill_s,
                decode_s=stats.decode_s,
                tokens_per_s=stats.tokens_per_s,
                plain_tokens_per_s=stats.plain_tokens_per_s,
            ),
            speculation=Speculation(
                drafter=self.runtime.kind,
                rounds=stats.rounds,
                drafted=stats.drafted,
                tested=stats.tested,
                accepted=stats.accepted,
                acceptance_rate=stats.acceptance_rate,
                tokens_per_round=stats.tokens_per_round,
                accepted_per_position=tuple(stats.accepted_per_position),
            ),
            live=self._live(sequence, reply),
        )
