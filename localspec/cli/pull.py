"""`localspec pull`: bring models here, so that nothing touches the network afterwards."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from localspec.sources import FileSource


def pull(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Recipe name (its target and its drafter), org/name or org/name:QUANT (with the head "
            "that drafts for it, if the repo has one) or "
            "org/name/file.gguf.",
        ),
    ],
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Show no progress and no notices, only errors."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Fetch nothing; fail unless all is here already.")
    ] = False,
) -> None:
    """Download models: all files at once, each checked; an interrupted pull goes on.

    For example: localspec pull qwen2.5-coder-1.5b
    """
    from localspec.store.pull import fetch
    from localspec.ui.pulling import show_pull

    sources = [source for model in models for source in _sources(model, offline)]
    with closing(fetch(sources, offline=offline, typed=models)) as events:
        show_pull(events, quiet=quiet)


def _sources(model: str, offline: bool) -> "list[FileSource]":
    """The files `model` stands for; the Hub's present ones, not those of an earlier pull."""
    from localspec import pair
    from localspec.store.hub import resolve_with_head
    from localspec.store.refs import HubRepo, parse_ref

    match parse_ref(model):
        case HubRepo() as ref:
            target, head = resolve_with_head(ref, offline=offline, fresh=True)
            return [target, head] if head else [target]
        case _:
            return pair.sources(pair.choose(model, offline=offline))
