"""Draws what `localspec inspect` found out about a model file.

Takes plain values, the very ones that `--json` prints, and knows nothing of how they were found.
"""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class VocabularyFacts:
    """llama.cpp's type of the vocabulary ("BPE", "SPM", …; "none" without one) and its tokens."""

    type: str
    size: int


@dataclass(frozen=True, slots=True)
class DrafterFacts:
    """One drafter, whether it fits and why; `path` is None for a kind without a file."""

    kind: str
    path: str | None
    fits: bool
    reason: str


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The recurrent state of a sequence, and what drafts need beside it to be taken back.

    Attributes:
        bytes: of the state.
        n_last_states: earlier states that are kept, one for each token of the longest draft.
        copies: one copy is kept in their place.
        extra_bytes: of all that is kept beside the state.
    """

    bytes: int
    n_last_states: int
    copies: bool
    extra_bytes: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is told about a model file.

    `template` is True if it brings a chat template, `sliding_window` counts tokens and is None where all
    attention is full, `state` is None for a model that keeps none.
    """

    path: str
    name: str
    architecture: str
    quantization: str
    size_bytes: int
    context_length: int | None
    vocabulary: VocabularyFacts
    template: bool
    sliding_window: int | None
    state: StateFacts | None
    drafters: tuple[DrafterFacts, ...]


def draw_model(facts: ModelFacts, console: Console) -> None:
    """Print the facts and a table of the drafters."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _rows(facts):
        # Text, not str: a file's own words must not be taken for markup
        grid.add_row(label, Text(value))
    console.print(grid)
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("drafter", no_wrap=True)
    table.add_column("fits", no_wrap=True)
    table.add_column("why", overflow="fold")
    for drafter in facts.drafters:
        fits = Text("yes", "green") if drafter.fits else Text("no", "yellow")
        why = Text(drafter.reason)
        if drafter.path:
            why.append(f"\n{drafter.path}", "dim")
        table.add_row(Text(drafter.kind), fits, why)
    console.print(table)


def _rows(facts: ModelFacts) -> list[tuple[str, str]]:
    context = "not stated" if facts.context_length is None else f"{facts.context_length:,} tokens"
    vocabulary = f"{facts.vocabulary.type}, {facts.vocabulary.size:,} tokens"
    rows = [
        ("name", facts.name),
        ("file", facts.path),
        ("size", _size(facts.size_bytes)),
        ("architecture", facts.architecture),
        ("quantization", facts.quantization),
        ("context", context),
        ("vocabulary", vocabulary if facts.vocabulary.size else "none"),
        ("chat template", "yes" if facts.template else "no"),
    ]
    if facts.sliding_window:
        rows.append(("sliding window", f"{facts.sliding_window:,} tokens"))
    if facts.state:
        rows.append(("recurrent state", _state(facts.state)))
    return rows


def _state(state: StateFacts) -> str:
    kept = "a copy" if state.copies else f"{state.n_last_states} earlier ones"
    return (
        f"{_size(state.bytes)} a sequence; drafts take {_size(state.extra_bytes)} more for {kept}"
    )


def _size(n_bytes: int) -> str:
    """Decimal units, as the Hub shows them."""
    if n_bytes >= 10**9:
        return f"{n_bytes / 10**9:.2f} GB"
    return f"{n_bytes / 10**6:.1f} MB" if n_bytes >= 10**5 else f"{n_bytes / 10**3:.1f} kB"
