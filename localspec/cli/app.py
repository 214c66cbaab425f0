"""The commands, and the one place where errors become sentences and exit codes.

Nothing heavy is imported here: `--help` and `--version` need none of it.
"""

import errno
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, NoReturn

import typer

from localspec import __version__
from localspec.cli.bench import app as bench_group
from localspec.cli.bench import bench
from localspec.cli.bench_replay import replay_command
from localspec.cli.chat import chat
from localspec.cli.doctor import doctor
from localspec.cli.inspect import inspect
from localspec.cli.models import models
from localspec.cli.pull import pull
from localspec.cli.recipes import recipes
from localspec.cli.run import run
from localspec.cli.tune import tune
from localspec.cli.usage import as_our_own, is_only_help
from localspec.errors import LocalspecError, OutOfResourcesError, UsageError

INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT)."""

app = typer.Typer(
    name="localspec",
    help="Local models answer faster, with the same answers.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every failure turned into a sentence and an exit code.

    Around each command and not around the app, which has its own idea of a closed pipe.
    """

    @wraps(command)
    def guarded(*args: object, **kwargs: object) -> None:
        from localspec.ui.output import prepare_streams

        prepare_streams()
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except LocalspecError as error:
            _fail(error)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            _leave_quietly()
        except MemoryError:
            _fail(OutOfResourcesError("There is not enough memory.", "Try a smaller --ctx."))
        except OSError as error:
            _fail(_refused(error))
        except Exception as error:
            # The one place that catches everything: a fault of ours must not end in a traceback.
            _fail(_unexpected(error), error)

    return guarded


def _refused(error: OSError) -> LocalspecError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        _forget_output()
        return OutOfResourcesError(
            f"There is no room to write: {error.strerror}.", "Free some space, or write elsewhere."
        )
    return LocalspecError(f"The system refused: {error}.", "localspec doctor")


def _unexpected(error: Exception) -> LocalspecError:
    return LocalspecError(
        f"This is a fault in localspec: {type(error).__name__}: {error}",
        "Set LOCALSPEC_DEBUG=1, run it again, and report what is shown",
    )


def _fail(error: LocalspecError, cause: Exception | None = None) -> NoReturn:
    if os.environ.get("LOCALSPEC_DEBUG"):
        raise cause or error
    from localspec.ui.output import show_error

    show_error(error)
    sys.exit(error.exit_code)


def _leave_quietly() -> NoReturn:
    """Whoever read our output has closed it (| head): that is no failure of ours."""
    _forget_output()
    sys.exit(0)


def _forget_output() -> None:
    """Have what is still to be flushed at the end go nowhere, since it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


for command in (run, chat, pull, models, recipes, inspect, doctor, tune):
    app.command()(_guarded(command))

bench_group.callback()(_guarded(bench))
bench_group.command("replay")(_guarded(replay_command))
app.add_typer(bench_group, name="bench")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"localspec {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Local models answer faster, with the same answers."""


def main() -> None:
    """Run the command line and leave with the right exit code."""
    try:
        # not standalone: what is wrong with the command line is said in our own form
        code = app(standalone_mode=False) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if isinstance(error, BrokenPipeError):
            _leave_quietly()
        if isinstance(error, OSError):
            _fail(_refused(error))
        if is_only_help(error):
            sys.exit(UsageError.exit_code)
        said = as_our_own(error)
        if said is None:
            raise
        _fail(said)
