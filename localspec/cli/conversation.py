"""The conversation behind `localspec chat`: a session whose model can be changed on the way."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from localspec import paths
from localspec.cli.opening import held_of, local_pair, opened_runtime, session_on
from localspec.cli.options import Request
from localspec.cli.suggestion import unused_drafter
from localspec.cli.tracing import Tracing
from localspec.cli.writable import check_writable
from localspec.errors import LocalspecError, UsageError
from localspec.events import AnswerEvent, Finished, Notice
from localspec.pair import LocalPair
from localspec.session import Session
from localspec.ui.chat import ChatOptions, run_chat
from localspec.ui.output import show_notice
from localspec.ui.status import drafted_in, per_round, percent, rate


def talk(request: Request) -> None:
    """Open the model and run the chat until the user leaves.

    Raises:
        UsageError: options that make no sense in a chat.
        LocalspecError: the model cannot be opened.
    """
    if request.json or request.jsonl or request.raw:
        raise UsageError(
            "--json, --jsonl and --raw are for single prompts.", 'localspec run --json "…"'
        )
    request.check()
    check_writable({"--trace": request.trace})
    options = ChatOptions(
        history_file=paths.data_dir() / "history",
        show_drafts=request.show_drafts,
        quiet=request.quiet,
    )
    with SwitchableConversation(request) as conversation:
        if notice := conversation.suggestion():
            show_notice(notice)
        run_chat(conversation, options)


class SwitchableConversation:
    """What `ui/chat.py` talks to (its Protocol `Conversation`)."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._held = held_of(request)
        self._stack = ExitStack()
        self._tracing = Tracing(request, "chat", (f"chat-{n}" for n in count(1)))
        self._session = self._open(request, local_pair(request))

    @property
    def model_name(self) -> str:
        """What answers, and what drafts for it."""
        runtime = self._session.runtime
        return f"{runtime.header.name} ({runtime.header.quantization})"

    @property
    def drafter_name(self) -> str:
        """What drafts."""
        runtime = self._session.runtime
        if runtime.drafter_header is not None:
            return runtime.drafter_header.name
        return runtime.kind

    def suggestion(self) -> Notice | None:
        """A drafter that lies here unused."""
        return unused_drafter(self._session.runtime, self._request, "chat")

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._session.system

    def set_system(self, text: str | None) -> None:
        """Replace the system prompt; it counts from the next answer on."""
        self._session.system = text

    def send(self, text: str) -> Iterator[AnswerEvent]:
        """See `Session.send`."""
        return self._tracing.told(self._session.send(text))

    def regenerate(self) -> Iterator[AnswerEvent]:
        """See `Session.regenerate`; a seed that was asked for and cannot count here is named."""
        with closing(self._tracing.told(self._session.regenerate())) as events:
            first = next(events)
            if self._request.seed is not None:
                seed = self._session.sampling.seed
                yield Notice(f"With seed {seed} this time.")
            yield first
            yield from events

    def reset(self) -> None:
        """Forget what was said."""
        self._session.reset()

    def save(self, path: Path) -> None:
        """Write the conversation to a file."""
        self._session.save(path)

    def load(self, path: Path) -> int:
        """Take a conversation up from a file; returns its number of messages."""
        self._session.load(path)
        return len(self._session.messages)

    def switch_model(self, name: str) -> None:
        """Go on with another model; what was said stays. If it cannot be opened, nothing changes."""
        wanted = replace(self._request, model=name, drafter="auto")
        pair = local_pair(wanted)
        former, former_request = self._session, self._request
        former_pair = former.runtime.pair
        # One after the other: two models at once may be more than the memory holds.
        self._stack.close()
        try:
            self._session = self._open(wanted, pair)
            self._request = wanted
        except LocalspecError:
            self._stack.close()
            self._session = self._open(former_request, former_pair)
            raise
        finally:
            self._session.messages, self._session.system = former.messages, former.system

    def stats(self) -> list[tuple[str, str]]:
        """Figures of the last answer, as name and value."""
        runtime, last = self._session.runtime, self._session.last
        used = last.live.context_used if last else 0
        rows = [
            ("model", self.model_name),
            ("drafter", self.drafter_name),
            ("numerics", runtime.numerics),
            ("messages", str(len(self._session.messages))),
            ("context", f"{used} of {runtime.engine.target.n_ctx} tokens"),
        ]
        return rows if last is None else rows + _figures(last)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._tracing:
            self._stack.close()

    def _open(self, request: Request, pair: LocalPair) -> Session:
        runtime = self._stack.enter_context(opened_runtime(request, pair))
        # Asked for now, so that a model that cannot chat is refused before the first question.
        runtime.chat()
        session = session_on(runtime, request, self._held)
        self._tracing.follow(session, request)
        return session


def _figures(last: Finished) -> list[tuple[str, str]]:
    speculation, timing, live = last.speculation, last.timing, last.live
    accepted = "none tested"
    if speculation.acceptance_rate is not None:
        accepted = percent(speculation.acceptance_rate)
    return [
        ("answer", f"{len(last.token_ids)} tokens in {timing.decode_s:.1f} s"),
        (
            "prompt",
            f"{last.prompt_tokens} tokens, {last.cached_tokens} of them still in memory",
        ),
        ("tokens/s", _measured(timing.tokens_per_s, rate)),
        ("plain tokens/s", _measured(timing.plain_tokens_per_s, rate)),
        ("rounds", drafted_in(live.drafted_rounds, live.rounds)),
        ("drafted", f"{speculation.drafted} tokens, tested {speculation.tested}"),
        ("accepted", f"{speculation.accepted} ({accepted})"),
        ("tokens/round", _measured(speculation.tokens_per_round, per_round)),
        ("seed", str(last.seed)),
    ]


def _measured(value: float | None, form: Callable[[float], str]) -> str:
    return "not measured" if value is None else form(value)
