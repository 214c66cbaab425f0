"""The options of `bench`, and the request they add up to."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from localspec.cli.options import TRACE_HELP, NumericsChoice, Request

_WHAT, _FILES, _SAMPLING = "What is compared", "Files", "Sampling"


def _option(panel: str, *names: str, **settings: Any) -> Any:  # noqa: ANN401 (as typer.Option)
    return typer.Option(*names, rich_help_panel=panel, **settings)


def _file(name: str, text: str) -> Any:  # noqa: ANN401 (as typer.Option)
    return _option(_FILES, name, metavar="FILE", help=text)


Arms = Annotated[
    str | None,
    _option(
        _WHAT,
        "--arms",
        metavar="A,B,…",
        help="Of plain; auto (decides by itself); lookup (drafts from the text alone); fixed:N;"
        " threshold:P; none (as plain, once more). plain is always among them.",
    ),
]
Suite = Annotated[
    str,
    _option(
        _WHAT,
        "--suite",
        metavar="NAME|FILE",
        help="Prompts: our own (builtin), or a file of JSON lines with turns or messages.",
    ),
]
Limit = Annotated[
    int | None,
    _option(
        _WHAT, "--limit", min=1, metavar="N", help="At most N prompts, spread over the classes."
    ),
]
Repeat = Annotated[
    int,
    _option(_WHAT, "--repeat", min=1, max=1000, metavar="R", help="Answer each prompt R times."),
]
Tokens = Annotated[
    int,
    _option(_SAMPLING, "--max-tokens", "-n", min=1, metavar="N", help="Longest answer, in tokens."),
]
Temperature = Annotated[
    float,
    _option(
        _SAMPLING,
        "--temperature",
        min=0.0,
        max=10.0,
        metavar="T",
        help="0 takes the most likely token.",
    ),
]
Seed = Annotated[
    int, _option(_SAMPLING, "--seed", metavar="S", help="Of every answer and of their order.")
]
Peer = Annotated[
    str | None,
    _option(
        _WHAT,
        "--peer",
        metavar="URL",
        help="One arm more: any server with OpenAI's chat API, with or without /v1, timed by itself where"
        " it does so (llama-server). Key: OPENAI_API_KEY.",
    ),
]
JsonFile = Annotated[Path | None, _file("--json", "Figures of every answer.")]
MarkdownFile = Annotated[Path | None, _file("--markdown", "The tables.")]
HtmlFile = Annotated[
    Path | None, _file("--html", "Tables and plots as one page that needs nothing else.")
]
CsvFile = Annotated[Path | None, _file("--csv", "One line an answer.")]
OldFile = Annotated[Path | None, _file("--compare", "An earlier --json to compare with.")]
TraceFile = Annotated[Path | None, _file("--trace", TRACE_HELP)]
TraceFull = Annotated[
    bool,
    _option(
        _FILES, "--trace-full", help="Trace drafts to full depth; times then serve replay only."
    ),
]


_SHARED = (
    "model",
    "drafter",
    "temperature",
    "seed",
    "ctx",
    "threads",
    "numerics",
    "quiet",
    "verbose",
    "offline",
)
"""Fields that `run` has too."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What `bench` was asked for; see its options."""

    model: str
    drafter: str
    arms: str | None
    peer: str | None
    suite: str
    limit: int | None
    n_tokens: int
    temperature: float
    seed: int
    repeat: int
    ctx: int | None
    threads: int | None
    numerics: NumericsChoice | None
    no_profile: bool
    json: Path | None
    markdown: Path | None
    html: Path | None
    csv: Path | None
    compare: Path | None
    trace: Path | None
    trace_full: bool
    quiet: bool
    verbose: bool
    offline: bool

    @property
    def files(self) -> dict[str, Path | None]:
        """The files to be written, by option."""
        return {
            "--json": self.json,
            "--markdown": self.markdown,
            "--html": self.html,
            "--csv": self.csv,
            "--trace": self.trace,
        }

    def as_run(self) -> Request:
        """The same for what `bench` shares with `run`."""
        nothing = dict.fromkeys(Request.__dataclass_fields__)
        off = dict.fromkeys(("raw", "show_drafts", "json", "jsonl"), False)
        own = {name: getattr(self, name) for name in _SHARED}
        # a drafter that drafts for the record only teaches wrong times
        forget = self.no_profile or self.trace_full
        return Request(**{**nothing, **off, **own, "no_profile": forget, "stop": ()})


def told_command(arguments: list[str], shown: dict[str, str]) -> str:
    """The command line as a report may tell it: of a path from the root the file alone.

    Args:
        arguments: all after the program's name.
        shown: values that are told otherwise, as an address that may hold a password.
    """
    told = []
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if not (equals and option.startswith("--")):
            option, equals, value = "", "", argument
        path = Path(value)
        told.append(option + equals + shown.get(value, path.name if path.is_absolute() else value))
    return shlex.join(["localspec", *told])
