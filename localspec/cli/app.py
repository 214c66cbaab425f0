"""The commands, and the one place where errors become sentences and exit codes.

Nothing heavy is imported here: `--help` and `--version` need none of it.
"""

import os
import sys
from typing import Annotated

import typer

from localspec import __version__
from localspec.cli.chat import chat
from localspec.cli.doctor import doctor
from localspec.cli.inspect import inspect
from localspec.cli.models import models
from localspec.cli.pull import pull
from localspec.cli.recipes import recipes
from localspec.cli.run import run
from localspec.errors import LocalspecError

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
for command in (run, chat, pull, models, recipes, inspect, doctor):
    app.command()(command)


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
        app()
    except LocalspecError as error:
        _report(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _leave_quietly()
    except MemoryError:
        _report(LocalspecError("There is not enough memory.", "Try a smaller model or --ctx."))
        sys.exit(5)
    except OSError as error:
        _report(LocalspecError(f"The system refused: {error}."))
        sys.exit(1)


def _report(error: LocalspecError) -> None:
    if os.environ.get("LOCALSPEC_DEBUG"):
        raise error
    from localspec.ui.output import show_error

    show_error(error)


def _leave_quietly() -> None:
    """The reader has closed our output (| head): that is no failure of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
