"""`localspec models`: what is on this machine."""

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer


def models(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the GGUF models in the Hugging Face cache and those that came from packages."""
    from rich.console import Console

    from localspec.store.listing import stored_models
    from localspec.ui.model_list import ModelRow, draw_models

    rows = [ModelRow(m.name, m.size, str(m.path), m.source) for m in stored_models()]
    if json:
        typer.echo(jsonlib.dumps({"version": 1, "models": [asdict(row) for row in rows]}))
    elif rows:
        draw_models(rows, Console())
    else:
        typer.echo(
            "No models here yet. Get the default pair with: localspec pull qwen2.5-coder-1.5b",
            err=True,
        )
