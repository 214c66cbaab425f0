"""The trace of `run` and `chat`: a fault in writing it ends the trace, and never an answer."""

from collections.abc import Generator, Iterator
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, Self

from localspec.cli.options import Request
from localspec.events import Notice
from localspec.paths import expanded

if TYPE_CHECKING:
    from localspec.errors import LocalspecError
    from localspec.events import AnswerEvent
    from localspec.runtime import Runtime
    from localspec.session import Session
    from localspec.trace import TraceWriter


class Tracing:
    """Writes the rounds of sessions where the request asks for it; a context manager.

    What is in the file stays until the first session is there.

    Args:
        request: names the file; it was checked that it can be written.
        prompt_class: "run" or "chat".
        prompt_ids: names of the answers, in order.
    """

    def __init__(self, request: Request, prompt_class: str, prompt_ids: Iterator[str]) -> None:
        self._path, self._quiet = request.trace, request.quiet
        self._prompt_class, self._prompt_ids = prompt_class, prompt_ids
        self._writer: TraceWriter | None = None
        self._untold: Notice | None = None

    def follow(self, session: "Session", request: Request) -> None:
        """Write the rounds of a session's answers, after those of the sessions before it."""
        if self._path is None:
            return
        from localspec.bench.machine import machine_facts, trace_header
        from localspec.trace import TraceWriter

        runtime = session.runtime
        facts = trace_header(runtime, session.sampling, machine_facts(runtime))
        if self._writer is None:
            self._writer = TraceWriter(expanded(self._path), facts, self._failed)
        else:
            self._writer.header(facts)
        session.on_round = self._writer.listener(
            self._prompt_ids, self._prompt_class, _arm(request, runtime)
        )

    def told(self, events: "Iterator[AnswerEvent]") -> "Generator[AnswerEvent, None, None]":
        """The events of an answer, and a notice where the trace ended; if quiet, that waits for the end."""
        with closing(events):  # type: ignore[type-var]
            for event in events:
                if self._untold is not None and not self._quiet:
                    notice, self._untold = self._untold, None
                    yield notice
                yield event

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from localspec.ui.output import show_notice

        if self._writer is not None:
            self._writer.close()
        if self._untold is not None:
            show_notice(self._untold)

    def _failed(self, error: "LocalspecError") -> None:
        self._untold = Notice(f"{error.message} Answers go on without a trace.", error.hint)


def _arm(request: Request, runtime: "Runtime") -> str:
    """What `bench` would call this way of drafting."""
    if runtime.kind == "none":
        return "plain"
    if request.depth is not None:
        return f"fixed:{request.depth}"
    if request.depth_threshold is not None:
        return f"threshold:{request.depth_threshold:g}"
    return "lookup" if runtime.kind == "lookup" else "auto"
