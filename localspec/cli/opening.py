"""What commands share: from a request to files, to opened models, to a session that can answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from localspec.cli.options import Request
from localspec.cli.writable import check_writable
from localspec.defaults import sampling_params
from localspec.errors import LocalspecError
from localspec.events import Notice
from localspec.grammar.held import Held
from localspec.pair import LocalPair, choose, located, obtain
from localspec.params import DepthParams
from localspec.runtime import Runtime, Wishes
from localspec.session import AnswerLimits, Session
from localspec.trial import require_trial, trials, was_tried
from localspec.ui.loading import LoadingLine
from localspec.ui.output import show_notice
from localspec.ui.pulling import show_pull
from localspec.ui.transient import TransientLine


@contextmanager
def opened_session(request: Request) -> Iterator[Session]:
    """Bring the files here, open them, and close them at the end.

    Raises:
        LocalspecError: whatever stands in the way, see `pair`, `runtime` and `session`.
    """
    held = held_of(request)
    with opened_runtime(request, local_pair(request)) as runtime:
        yield session_on(runtime, request, held)


def held_of(request: Request) -> Held | None:
    """What the request holds answers to, checked before anything is loaded."""
    held = None
    if request.schema is not None:
        from localspec.grammar.schema import schema_grammar

        held = schema_grammar(request.schema)
    elif request.grammar is not None:
        from localspec.grammar.grammar_file import file_grammar

        held = file_grammar(request.grammar)
    if held is not None and not request.quiet:
        for notice in held.notices:
            show_notice(notice)
    return held


def local_pair(request: Request) -> LocalPair:
    """The files of the request, fetched where they are missing, with progress on standard error."""
    return fetched(request.model, request.drafter, offline=request.offline, quiet=request.quiet)


def fetched(model: str, drafter: str, *, offline: bool, quiet: bool) -> LocalPair:
    """The files of a pair, see `pair.choose`; progress on standard error unless quiet."""
    pair = choose(model, drafter, offline=offline)
    show_pull(obtain(pair, offline=offline), quiet=quiet)
    return located(pair)


def show_log() -> None:
    """Have llama.cpp's own log on standard error."""
    from localspec.llama.library import library

    library().verbose = True


@contextmanager
def opened_runtime(request: Request, pair: LocalPair) -> Iterator[Runtime]:
    """The models of the request, loaded, with a line on standard error while that takes."""
    check_writable({"--trace": request.trace}, [pair.target, pair.drafter])
    if request.verbose:
        show_log()
    wishes = Wishes(
        depth=DepthParams(request.depth, threshold=request.depth_threshold),
        n_ctx=request.ctx,
        n_threads=request.threads,
        numerics=request.numerics.value if request.numerics else None,
        template=request.template,
        profile=not request.no_profile,
    )
    with LoadingLine(quiet=request.quiet or request.verbose) as loading:
        runtime = _opened(pair, wishes, loading)
    with runtime:
        if not request.quiet:
            for notice in [*runtime.notices, *_unheard(runtime, request)]:
                show_notice(notice)
        yield runtime


def _opened(pair: LocalPair, wishes: Wishes, line: LoadingLine) -> Runtime:
    """The models of a pair; without a head that nobody asked for, if it does not run."""
    try:
        try_first(pair, wishes, line)
        return Runtime(pair, wishes, line)
    except LocalspecError as error:
        if pair.asked or trials(pair)[-1].head is None:
            raise
        runtime = _opened(replace(pair, kind="lookup", drafter=None, asked=True), wishes, line)
        runtime.notices.append(
            Notice(
                f"Answering without the head that was found: {error.message}",
                "Leave it out: -d lookup",
            )
        )
        return runtime


def _unheard(runtime: Runtime, request: Request) -> list[Notice]:
    """What to say of a wish that the model's template takes no notice of."""
    if request.thinking is None or not runtime.has_template:
        return []
    if runtime.chat()[0].thinking_switch:
        return []
    return [
        Notice(
            f"{runtime.header.name} has no switch for thinking; --think {request.think} changes nothing.",
            f"What its template can do: localspec inspect {request.model} --template",
        )
    ]


def try_first(pair: LocalPair, wishes: Wishes, line: TransientLine) -> None:
    """Have files that were never run here run in a process of their own first.

    Raises:
        UnsupportedFileError: llama.cpp crashes on one.
    """
    for trial in trials(pair):
        if not was_tried(trial, wishes.numerics):
            line.say(f"trying {trial.newest.name}: its first time here")
            require_trial(trial, wishes.numerics, wishes.n_threads)


def session_on(runtime: Runtime, request: Request, held: Held | None) -> Session:
    """A conversation with the request's sampling and limits, its answers held to a grammar."""
    recipe = runtime.pair.recipe
    sampling = sampling_params(
        asdict(request), recipe.sampling if recipe else None, runtime.header.sampling
    )
    limits = AnswerLimits(request.max_tokens, request.stop)
    return Session(runtime, sampling, limits, request.system, request.thinking, held)
