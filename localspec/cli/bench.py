"""`localspec bench`: arms × prompts, interleaved, against plain decoding."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from localspec.cli import bench_options as of_bench
from localspec.cli import options
from localspec.cli.bench_options import BenchRequest
from localspec.cli.options import DEFAULT_MODEL
from localspec.paths import expanded

if TYPE_CHECKING:
    from localspec.bench.arms import Arm
    from localspec.bench.peer import Peer
    from localspec.bench.runner import Bench
    from localspec.bench.suite import BenchPrompt
    from localspec.results import BenchReport
    from localspec.runtime import Runtime

app = typer.Typer(invoke_without_command=True)
"""`bench` itself; `cli/app.py` adds its subcommands."""


def bench(
    context: typer.Context,
    model: options.Model = DEFAULT_MODEL,
    drafter: options.Drafter = "auto",
    arms: of_bench.Arms = None,
    peer: of_bench.Peer = None,
    suite: of_bench.Suite = "builtin",
    limit: of_bench.Limit = None,
    repeat: of_bench.Repeat = 1,
    n_tokens: of_bench.Tokens = 96,
    temperature: of_bench.Temperature = 0.0,
    seed: of_bench.Seed = 0,
    ctx: options.Ctx = None,
    threads: options.Threads = None,
    numerics: options.Numerics = None,
    no_profile: options.NoProfile = False,
    offline: options.Offline = False,
    json: of_bench.JsonFile = None,
    markdown: of_bench.MarkdownFile = None,
    html: of_bench.HtmlFile = None,
    csv: of_bench.CsvFile = None,
    compare: of_bench.OldFile = None,
    trace: of_bench.TraceFile = None,
    trace_full: of_bench.TraceFull = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure what drafting brings: the same prompts by several arms in turn, in one process.

    Examples:

    localspec bench --limit 8

    localspec bench -m big.gguf -d small.gguf --arms auto,fixed:4,threshold:0.5 --json new.json

    localspec bench --suite prompts.jsonl --compare old.json --markdown page.md

    localspec bench --limit 8 --html bench.html

    localspec bench -m big.gguf --peer http://127.0.0.1:8080 --html bench.html
    """
    arguments = locals()
    arguments.pop("context")
    if context.invoked_subcommand is None:
        measure(BenchRequest(**arguments))


def measure(request: BenchRequest) -> None:
    """Do what the request says; everything that can be wrong with it is found before models load.

    Raises:
        LocalspecError: anything that stands in the way.
        KeyboardInterrupt: it was stopped; what was finished has been shown and written.
        Terminated: the process was asked to end; the same.
    """
    from localspec.bench.arm_names import default_arms, parse_arms
    from localspec.bench.arms import open_arms
    from localspec.bench.suite import load_suite, spread
    from localspec.cli.opening import local_pair, opened_runtime
    from localspec.cli.writable import check_writable

    specs = parse_arms(request.arms) if request.arms is not None else None
    prompts = spread(load_suite(request.suite), request.limit)
    _check_trace(request)
    check_writable(request.files, [request.suite, request.compare])
    old = _old_report(request)
    shared = request.as_run()
    with _checked_peer(request) as peer:
        pair = local_pair(shared)
        check_writable(request.files, [pair.target, pair.drafter])
        with opened_runtime(shared, pair) as runtime:
            wanted = open_arms(specs or default_arms(runtime.kind), runtime)
            with _prepared(request, runtime, wanted, prompts, peer) as made:
                _run(made, request, old)


@contextmanager
def _prepared(
    request: BenchRequest,
    runtime: "Runtime",
    arms: "list[Arm]",
    prompts: "list[BenchPrompt]",
    peer: "Peer | None",
) -> Iterator["Bench"]:
    """The benchmark, and the trace that it writes."""
    from localspec.bench.runner import Bench, Plan
    from localspec.defaults import sampling_params
    from localspec.trace import TraceWriter

    recipe = runtime.pair.recipe
    asked = {"temperature": request.temperature, "seed": request.seed}
    sampling = sampling_params(asked, recipe.sampling if recipe else None, runtime.header.sampling)
    facts = _facts(request, peer)
    plan = Plan(sampling, request.n_tokens, request.repeat, request.trace_full, facts)
    made = Bench(runtime, arms, prompts, plan, peer)
    if request.trace is None:
        yield made
        return
    with TraceWriter(expanded(request.trace), made.trace_header()) as made.trace:
        yield made


def _run(made: "Bench", request: BenchRequest, old: "BenchReport | None") -> None:
    """Run it, then show and write what was finished, however it ended."""
    from localspec.cli.bench_files import write_report
    from localspec.errors import LocalspecError
    from localspec.termination import Terminated

    ending: LocalspecError | KeyboardInterrupt | Terminated | None = None
    try:
        _watched(made, request)
        ending = made.failure
    except (LocalspecError, KeyboardInterrupt, Terminated) as error:
        ending = error
    report = made.report()
    if report.runs or ending is None:
        try:
            write_report(report, request.files)
        finally:
            _draw(report, old)
    if ending is not None:
        raise ending


def _watched(made: "Bench", request: BenchRequest) -> None:
    """Run with a line of progress.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    from contextlib import closing

    from localspec.ui.bench import BenchLine
    from localspec.ui.interrupt import Interrupt
    from localspec.ui.output import show_notice

    for notice in made.notices:
        show_notice(notice)
    with BenchLine(quiet=request.quiet) as line, Interrupt() as key, closing(made.run()) as steps:
        for step in steps:
            line.show(step.done, step.total, step.prompt_id, step.arm, step.left_s)
            if key.requested:
                raise KeyboardInterrupt


def _draw(report: "BenchReport", old: "BenchReport | None") -> None:
    from rich.console import Console

    from localspec.ui.bench import draw_bench, draw_changes

    console = Console()
    draw_bench(report, console)
    if old is not None:
        from localspec.bench.compare import compare, differences

        changes = [str(change) for change in compare(old, report)]
        draw_changes(changes, differences(old, report), console)


def _check_trace(request: BenchRequest) -> None:
    from localspec.errors import UsageError

    if request.trace_full and request.trace is None:
        raise UsageError("--trace-full says how to trace, but not where.", "Add --trace FILE")


@contextmanager
def _checked_peer(request: BenchRequest) -> Iterator["Peer | None"]:
    """The server of --peer, warm; None without one."""
    if request.peer is None:
        yield None
        return
    from localspec.bench.peer import Peer

    with Peer(request.peer) as peer:
        yield peer.check()


def _old_report(request: BenchRequest) -> "BenchReport | None":
    if request.compare is None:
        return None
    from localspec.bench.compare import load_report

    return load_report(expanded(request.compare))


def _facts(request: BenchRequest, peer: "Peer | None") -> dict[str, object]:
    """Settings that only the command line knows."""
    shown = {request.peer: peer.url} if request.peer and peer else {}
    return {
        "command": of_bench.told_command(sys.argv[1:], shown),
        "suite": Path(request.suite).name,
        "profile": not request.as_run().no_profile,
    }
