"""The options that commands share, and the request they add up to."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from localspec.errors import UsageError
from localspec.params import SamplingParams

_MODEL = "Model"
_SAMPLING = "Sampling"
_SPECULATION = "Speculation"
_OUTPUT = "Output"

_ELSE = SamplingParams()
_RECIPE = "Default: the recipe's, else the model file's, else"
_RECIPE_OR = "Default: the recipe's, else"

DEFAULT_MODEL = "qwen2.5-coder-1.5b"


class NumericsChoice(StrEnum):
    """Values of --numerics."""

    exact = "exact"
    fast = "fast"


class ThinkChoice(StrEnum):
    """Values of --think."""

    auto = "auto"
    on = "on"
    off = "off"


Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="Recipe, org/name, org/name:QUANT, org/name/file.gguf, a path, or a stored file's name.",
        rich_help_panel=_MODEL,
    ),
]
Drafter = Annotated[
    str,
    typer.Option(
        "--drafter",
        "-d",
        metavar="auto|none|lookup|mtp|MODEL",
        help="What drafts for the model; auto: the recipe's drafter, else a head in the model's file (mtp)"
        " or in a file beside it, else lookup.",
        rich_help_panel=_SPECULATION,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        min=0,
        max=64,
        metavar="N",
        help="Draft N tokens a round; without it, measured costs decide.",
        rich_help_panel=_SPECULATION,
    ),
]
DepthThreshold = Annotated[
    float | None,
    typer.Option(
        "--depth-threshold",
        min=0.0,
        max=1.0,
        metavar="P",
        help="Draft on while the drafter's own probability is at least P.",
        rich_help_panel=_SPECULATION,
    ),
]
NoProfile = Annotated[
    bool,
    typer.Option(
        "--no-profile",
        help="Neither use nor keep what was learned about this pair on this machine.",
        rich_help_panel=_SPECULATION,
    ),
]
System = Annotated[
    str | None,
    typer.Option("--system", metavar="TEXT", help="System prompt.", rich_help_panel=_MODEL),
]
Template = Annotated[
    str | None,
    typer.Option(
        "--template",
        metavar="NAME|FILE",
        help="Chat template that replaces the model's own.",
        rich_help_panel=_MODEL,
    ),
]


def _think(value: str) -> ThinkChoice:
    try:
        return ThinkChoice(value)
    except ValueError:
        raise typer.BadParameter(f"it is auto, on or off, not {value}.") from None


Think = Annotated[
    ThinkChoice | None,
    typer.Option(
        "--think",
        metavar="auto|on|off",
        parser=_think,
        help="Have a model think before it answers, where its template has a switch for that.",
        rich_help_panel=_MODEL,
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="FILE|TYPE",
        help="Hold answers to a JSON schema: a file, the schema itself, or a pydantic type as"
        " package.module.Name.",
        rich_help_panel=_OUTPUT,
    ),
]
Grammar = Annotated[
    str | None,
    typer.Option(
        "--grammar",
        metavar="FILE",
        help="Hold answers to a grammar, in llama.cpp's GBNF or in Lark.",
        rich_help_panel=_OUTPUT,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        "-n",
        min=1,
        metavar="N",
        help="Longest answer, in tokens. Default: until the model ends it or the context is full.",
        rich_help_panel=_SAMPLING,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        min=0.0,
        max=10.0,
        metavar="T",
        help=f"0 takes the most likely token. {_RECIPE} {_ELSE.temperature:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        min=0,
        metavar="K",
        help=f"0 for all. {_RECIPE} {_ELSE.top_k}.",
        rich_help_panel=_SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        min=0.0,
        max=1.0,
        metavar="P",
        help=f"1 for all. {_RECIPE} {_ELSE.top_p:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(
        "--min-p",
        min=0.0,
        max=1.0,
        metavar="P",
        help=f"0 for all. {_RECIPE} {_ELSE.min_p:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
RepeatPenalty = Annotated[
    float | None,
    typer.Option(
        "--repeat-penalty",
        min=0.01,
        max=10.0,
        metavar="X",
        help=f"1 for none. {_RECIPE} {_ELSE.repeat_penalty:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
PresencePenalty = Annotated[
    float | None,
    typer.Option(
        "--presence-penalty",
        min=-2.0,
        max=2.0,
        metavar="X",
        help=f"0 for none. {_RECIPE_OR} {_ELSE.presence_penalty:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
FrequencyPenalty = Annotated[
    float | None,
    typer.Option(
        "--frequency-penalty",
        min=-2.0,
        max=2.0,
        metavar="X",
        help=f"0 for none. {_RECIPE_OR} {_ELSE.frequency_penalty:g}.",
        rich_help_panel=_SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="S",
        help="Repeats an answer. Default: drawn anew each time.",
        rich_help_panel=_SAMPLING,
    ),
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="TEXT",
        help="End the answer before TEXT; may be given several times.",
        rich_help_panel=_SAMPLING,
    ),
]
Ctx = Annotated[
    int | None,
    typer.Option(
        "--ctx",
        min=16,
        metavar="N",
        help="Context, in tokens. Default: the recipe's, else 8192, or the model's own if less.",
        rich_help_panel=_MODEL,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=512,
        metavar="N",
        help="CPU threads; without it, one per core.",
        rich_help_panel=_MODEL,
    ),
]


def _numerics(value: str) -> NumericsChoice:
    try:
        return NumericsChoice(value)
    except ValueError:
        raise typer.BadParameter(f"it is exact or fast, not {value}.") from None


Numerics = Annotated[
    NumericsChoice | None,
    typer.Option(
        "--numerics",
        metavar="exact|fast",
        parser=_numerics,
        help="exact: the text does not depend on drafts, to the last bit. "
        "Default: exact where that costs nothing to speak of (quantized weights on a CPU), else fast.",
        rich_help_panel=_SPECULATION,
    ),
]
Raw = Annotated[
    bool,
    typer.Option("--raw", help="Send the prompt without a template.", rich_help_panel=_MODEL),
]
ShowDrafts = Annotated[
    bool,
    typer.Option("--show-drafts", help="Colour accepted draft tokens.", rich_help_panel=_OUTPUT),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.", rich_help_panel=_OUTPUT)]
JsonLines = Annotated[
    bool, typer.Option("--jsonl", help="Events as JSON lines.", rich_help_panel=_OUTPUT)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Nothing but the answer.", rich_help_panel=_OUTPUT)
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="llama.cpp's own log too.", rich_help_panel=_OUTPUT),
]
TRACE_HELP = (
    "Each round as a JSON line, for bench replay; replaces what is in FILE. It tells the text to whoever"
    " has the model, so a new file is readable by you alone (0600)."
)
Trace = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help=TRACE_HELP, rich_help_panel=_OUTPUT),
]
Offline = Annotated[
    bool,
    typer.Option("--offline", help="Use only what is on this machine.", rich_help_panel=_MODEL),
]


@dataclass(frozen=True, slots=True)
class Request:
    """What `run` and `chat` were asked for; None leaves the choice to the recipe or to localspec."""

    model: str
    drafter: str
    depth: int | None
    depth_threshold: float | None
    no_profile: bool
    system: str | None
    template: str | None
    think: ThinkChoice | None
    max_tokens: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    repeat_penalty: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    seed: int | None
    stop: tuple[str, ...]
    schema: str | None
    grammar: str | None
    ctx: int | None
    threads: int | None
    numerics: NumericsChoice | None
    raw: bool
    show_drafts: bool
    json: bool
    jsonl: bool
    trace: Path | None
    quiet: bool
    verbose: bool
    offline: bool

    @property
    def thinking(self) -> bool | None:
        """Whether the model is to think; None for the template's default."""
        return None if self.think in (None, ThinkChoice.auto) else self.think == ThinkChoice.on

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: they do.
        """
        if self.depth is not None and self.depth_threshold is not None:
            raise UsageError(
                "--depth and --depth-threshold are two ways to decide how deep to draft.",
                "Choose one of them, or neither: then measured costs decide.",
            )
        deep = "--depth" if self.depth else "--depth-threshold" if self.depth_threshold else None
        if self.drafter == "none" and deep is not None:
            raise UsageError(
                f"{deep} says how to draft, and -d none does not draft.", "Leave one of them out."
            )
        if "" in self.stop:
            raise UsageError("--stop needs a text to stop at.", "For example: --stop '###'")
        if self.schema is not None and self.grammar is not None:
            raise UsageError(
                "--schema and --grammar both say what an answer may be.", "Choose one of them."
            )
        if self.json and self.jsonl:
            raise UsageError("--json and --jsonl are two forms of output.", "Choose one of them.")
        if self.raw and (self.system or self.template or self.thinking is not None):
            raise UsageError(
                "--raw sends the prompt without a template, so --system, --template and --think have no"
                " place.",
                "Leave one of them out.",
            )
