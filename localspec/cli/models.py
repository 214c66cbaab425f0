"""`localspec models`: what is on this machine."""

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from localspec.ui.model_list import ModelRow


def models(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the GGUF models in the Hugging Face cache and those that came from packages.

    Each name that is shown can be typed as a model.
    """
    from rich.console import Console

    from localspec.ui.model_list import draw_models

    rows = _rows()
    if json:
        typer.echo(jsonlib.dumps({"version": 1, "models": [asdict(row) for row in rows]}))
    elif rows:
        draw_models(rows, Console())
    else:
        typer.echo(
            "No models here yet. Get the default pair with: localspec pull qwen2.5-coder-1.5b",
            err=True,
        )


def _rows() -> "list[ModelRow]":
    from localspec.store.listing import stored_models
    from localspec.store.owners import recipe_uses
    from localspec.ui.model_list import ModelRow, UseRow

    uses = recipe_uses()
    return [
        ModelRow(
            model.name,
            model.size,
            str(model.path),
            model.source,
            tuple(UseRow(use.name, use.role) for use in uses.get(model.path.resolve(), ())),
        )
        for model in stored_models()
    ]
