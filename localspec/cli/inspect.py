"""`localspec inspect`: what a model file is, and which drafters fit it, without loading it."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from localspec.chat.template import ChatTemplate
    from localspec.pair import LocalPair
    from localspec.recipe import Recipe
    from localspec.store.header import Header
    from localspec.store.pairing import Candidate
    from localspec.ui.inspecting import ModelFacts, StateFacts


_SHOWN = 3
"""Draft models of the user's own that are listed for a bare file."""


def inspect(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Recipe name, org/name, org/name:QUANT, org/name/file.gguf, a path, or a name that "
            "`localspec models` lists.",
        ),
    ],
    template: Annotated[
        bool,
        typer.Option(
            "--template",
            help="Show what its chat template can do instead, and how calls of tools are written.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a model file is and which drafters fit it.

    A file that cannot be run is shown too, and the command then fails with the reason.
    """
    from dataclasses import asdict
    from json import dumps

    from rich.console import Console

    from localspec.store.architectures import require_runnable
    from localspec.store.header import read_header
    from localspec.ui.inspecting import draw_model

    found = _find(model)
    header = read_header(found.target)
    recipe = found.recipe
    if template:
        _show_template(header, recipe, as_json=json)
        return
    facts = _facts(header, _listed(recipe) if recipe else _around(header))
    if json:
        typer.echo(dumps({"version": 1, **asdict(facts)}, indent=2))
    else:
        draw_model(facts, Console())
    require_runnable(header)


def _show_template(header: "Header", recipe: "Recipe | None", *, as_json: bool) -> None:
    """What the chat template of a file can do, or the one that its recipe names."""
    from dataclasses import asdict
    from json import dumps

    from rich.console import Console

    from localspec.cli.template_facts import describe
    from localspec.ui.template_facts import draw_template

    facts = describe(_template(header, recipe))
    if as_json:
        typer.echo(dumps({"version": 1, **asdict(facts)}, indent=2))
    else:
        draw_template(facts, Console())


def _template(header: "Header", recipe: "Recipe | None") -> "ChatTemplate":
    from localspec.chat.named import named_template
    from localspec.chat.template import ChatTemplate
    from localspec.errors import UnsupportedFileError

    named = recipe.template if recipe else None
    source = named_template(named) if named else header.template
    if source is None:
        raise UnsupportedFileError(
            f"{header.name} has no chat template.",
            "Name one when it answers: localspec run --template chatml",
        )
    words = header.vocabulary
    bos, eos = (words.text(words.bos), words.text(words.eos)) if words else ("", "")
    return ChatTemplate(source, bos, eos)


def _find(model: str) -> "LocalPair":
    """The model's files, which must be here: looking at one fetches nothing."""
    from localspec import pair
    from localspec.errors import NotFoundError
    from localspec.store.faults import hub_cache, not_here
    from localspec.store.refs import HubFile, HubRepo, parse_ref

    ref = parse_ref(model)
    try:
        return pair.located(pair.choose(model, "none", offline=True))
    except NotFoundError as error:
        if not isinstance(ref, HubFile | HubRepo):
            raise
        raise not_here([model], [hub_cache()], offline=False) from error


def _listed(recipe: "Recipe") -> "list[Candidate]":
    """A recipe's drafters, with their files where those are here."""
    from localspec.store.pairing import Candidate
    from localspec.store.pull import locate

    missing = f"not downloaded yet: localspec pull {recipe.name}"
    candidates = []
    for entry in recipe.drafters:
        kind = "mtp" if entry.kind == "mtp-embedded" else entry.kind
        if isinstance(entry.file, Path):
            here = entry.file.is_file()
            candidates.append(
                Candidate(kind, entry.file, None if here else "its file is not there")
            )
            continue
        path = locate(entry.file) if entry.file else None
        candidates.append(Candidate(kind, path, missing if entry.file and not path else None))
    return candidates


def _around(header: "Header") -> "list[Candidate]":
    """A bare file's own drafters and the first draft models on this machine that fit it."""
    from localspec.store.companions import fitting_drafters
    from localspec.store.pairing import Candidate, own_candidates

    *own, lookup = own_candidates(header)
    found = [Candidate("draft-model", c.path) for c in islice(fitting_drafters(header), _SHOWN)]
    return [*own, *found, lookup]


def _facts(header: "Header", candidates: "list[Candidate]") -> "ModelFacts":
    """What is told about a file and those who might draft for it."""
    from localspec.store.pairing import possible_drafters
    from localspec.ui.inspecting import DrafterFacts, ModelFacts, VocabularyFacts

    vocabulary = header.vocabulary
    return ModelFacts(
        path=str(header.path),
        name=header.name,
        architecture=header.architecture,
        quantization=header.quantization,
        size_bytes=header.size_bytes,
        context_length=header.context_length,
        vocabulary=VocabularyFacts(
            vocabulary.type if vocabulary else "none", vocabulary.size if vocabulary else 0
        ),
        template=header.template is not None,
        sliding_window=header.sliding_window,
        state=_state(header),
        drafters=tuple(
            DrafterFacts(fit.kind, str(fit.path) if fit.path else None, fit.fits, fit.reason)
            for fit in possible_drafters(header, candidates)
        ),
    )


def _state(header: "Header") -> "StateFacts | None":
    """What a recurrent model keeps; llama.cpp is loaded for those alone."""
    from localspec.store.architectures import unsupported_reason
    from localspec.store.recurrent import state_bytes
    from localspec.ui.inspecting import StateFacts

    if not state_bytes(header) or unsupported_reason(header):
        return None
    from localspec.states import state_cost

    cost = state_cost(header)
    assert cost is not None
    return StateFacts(cost.state_bytes, cost.n_last_states, cost.copies, cost.extra_bytes)
