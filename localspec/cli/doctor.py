"""`localspec doctor`: what this machine has, and whether localspec can run on it."""

from typing import Annotated

import typer


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions, cores, memory, devices and places, and say what is missing."""
    from json import dumps

    from rich.console import Console

    from localspec.checkup import examine
    from localspec.ui.checkup import draw_checkup

    found = examine()
    if json:
        typer.echo(dumps({"version": 1, **found}, indent=2))
    else:
        draw_checkup(found, Console())
