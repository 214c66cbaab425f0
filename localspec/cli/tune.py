"""`localspec tune`: measure a pair on this machine and keep what is best for it."""

from typing import Annotated

import typer

from localspec.cli import options
from localspec.cli.options import DEFAULT_MODEL


def tune(
    model: options.Model = DEFAULT_MODEL,
    drafter: options.Drafter = "auto",
    budget: Annotated[
        float,
        typer.Option(
            "--budget",
            min=1.0,
            max=3600.0,
            metavar="S",
            help="Seconds that measuring may take; everything is timed once at least.",
        ),
    ] = 60.0,
    ctx: options.Ctx = None,
    numerics: options.Numerics = None,
    offline: options.Offline = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure threads, passes and drafts of a pair on this machine, and keep what is best for it.

    Not needed: costs are learned while answering too. It saves the first answers from learning, and it
    is the only way to find the best number of threads. Best run while nothing else is.

    Examples:

    localspec tune

    localspec tune -m big.gguf -d small.gguf --budget 120
    """
    from json import dumps

    from rich.console import Console

    from localspec.cli.opening import fetched, show_log, try_first
    from localspec.runtime import Wishes
    from localspec.tuning import Tuner
    from localspec.ui.transient import TransientLine
    from localspec.ui.tuned import draw_tuned

    if verbose:
        show_log()
    pair = fetched(model, drafter, offline=offline, quiet=quiet)
    wishes = Wishes(n_ctx=ctx, numerics=numerics.value if numerics else None)
    with TransientLine(quiet=quiet or verbose) as line:
        try_first(pair, wishes, line)
        tuner = Tuner(pair, wishes, budget, lambda event: line.say(f"loading {event.name}"))
        for step in tuner.run():
            line.say(f"tuning {100 * step.fraction:3.0f} %: {step.what}")
    if json:
        typer.echo(dumps(tuner.report.to_json()))
    else:
        draw_tuned(tuner.report, Console())
