"""`localspec run`: one prompt, one answer."""

from typing import TYPE_CHECKING, Annotated

import typer

from localspec.cli import options
from localspec.cli.options import DEFAULT_MODEL, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localspec.events import AnswerEvent
    from localspec.session import Session


def run(
    prompt: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROMPT",
            help="What to ask; - reads standard input. Piped text is added to it.",
        ),
    ] = None,
    model: options.Model = DEFAULT_MODEL,
    drafter: options.Drafter = "auto",
    depth: options.Depth = None,
    depth_threshold: options.DepthThreshold = None,
    no_profile: options.NoProfile = False,
    system: options.System = None,
    template: options.Template = None,
    think: options.Think = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    min_p: options.MinP = None,
    repeat_penalty: options.RepeatPenalty = None,
    presence_penalty: options.PresencePenalty = None,
    frequency_penalty: options.FrequencyPenalty = None,
    seed: options.Seed = None,
    stop: options.Stop = None,
    schema: options.Schema = None,
    grammar: options.Grammar = None,
    ctx: options.Ctx = None,
    threads: options.Threads = None,
    numerics: options.Numerics = None,
    raw: options.Raw = False,
    show_drafts: options.ShowDrafts = False,
    json: options.Json = False,
    jsonl: options.JsonLines = False,
    trace: options.Trace = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    offline: options.Offline = False,
) -> None:
    """Answer one prompt. The answer goes to standard output, everything else to standard error.

    Examples:

    localspec run "Write a haiku about llamas."

    git diff | localspec run "Summarise this change." > summary.md

    localspec run -m org/name:Q4_K_M -d none --json "Hello"
    """
    arguments = locals()
    from localspec.cli.prompt import one_argument

    words = arguments.pop("prompt")
    answer(Request(**{**arguments, "stop": tuple(stop or ())}), one_argument(words))


def answer(request: Request, prompt: str | None) -> None:
    """Do what the request says.

    Raises:
        LocalspecError: anything that stands in the way.
    """
    from itertools import repeat

    from localspec.cli.opening import opened_session
    from localspec.cli.prompt import read_prompt
    from localspec.cli.tracing import Tracing
    from localspec.cli.writable import check_writable

    request.check()
    text = read_prompt(prompt)
    check_writable({"--trace": request.trace})
    with Tracing(request, "run", repeat("run")) as tracing, opened_session(request) as session:
        tracing.follow(session, request)
        events = _events(session, request, text)
        if request.json or request.jsonl:
            _print_records(session, events, lines=request.jsonl)
        else:
            _draw(tracing.told(events), request)
            _suggest(session, request)


def _events(session: "Session", request: Request, prompt: str) -> "Iterator[AnswerEvent]":
    """The answer's events; a model without a template gets the prompt as it is, and that is said."""
    from localspec.events import Notice
    from localspec.ui.output import show_notice

    runtime = session.runtime
    if request.raw:
        return session.complete(prompt)
    if runtime.has_template:
        return session.send(prompt)
    if request.quiet:
        return session.complete(prompt)
    show_notice(
        Notice(
            f"{runtime.header.name} has no chat template; the prompt is sent as it is.",
            "Say --raw to mean that, or name a template: --template chatml",
        )
    )
    return session.complete(prompt)


def _print_records(session: "Session", events: "Iterator[AnswerEvent]", *, lines: bool) -> None:
    from localspec.cli.records import answer_record, event_record
    from localspec.ui.output import print_json

    for event in events:
        if lines:
            print_json(event_record(event))
    if not lines and session.last is not None:
        print_json(answer_record(session.last, session.runtime))


def _draw(events: "Iterator[AnswerEvent]", request: Request) -> None:
    from localspec.ui.answer import AnswerView
    from localspec.ui.interrupt import Interrupt

    with (
        AnswerView(show_drafts=request.show_drafts, quiet=request.quiet) as view,
        Interrupt() as key,
    ):
        for event in events:
            view.show(event)
            if key.requested:
                events.close()  # type: ignore[attr-defined]
                view.stopped()
                raise KeyboardInterrupt


def _suggest(session: "Session", request: Request) -> None:
    """Name a drafter that lies here unused; after the answer, which nobody should wait for."""
    from localspec.cli.suggestion import unused_drafter
    from localspec.ui.output import show_notice

    notice = unused_drafter(session.runtime, request, "run")
    if notice is not None:
        show_notice(notice)
