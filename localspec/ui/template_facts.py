"""Draws what `localspec inspect --template` found out about a chat template.

Takes plain values, the very ones that `--json` prints.
"""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localspec.ui.sanitize import safe_for_terminal


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands before and after something."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What is told about a template; the fields of `inspect --template --json`.

    Attributes:
        system: it prints a system prompt; else that goes before the first question.
        tools: it prints the tools that may be called.
        calls: it prints earlier calls and what tools answered.
        parallel_calls: several calls in one turn.
        arguments: "object" or "text": how it takes the arguments of a call.
        content: "text" or "parts": how it takes what was said.
        thinking_switch: its prompt depends on `enable_thinking`.
        header: what begins a turn of the model.
        end: what ends it.
        reasoning: what stands around a thought; None where it knows none.
        answer: what stands around an answer; None for nothing.
        call_shape: how a call is written: "json", "named-json", "tagged", "quoted", "python", "channels".
        call: a call as it is written; None where the template prints none.
        example: a prompt: a system prompt, a question, a call and what the tool answered, as far as it takes
            them.
    """

    system: bool
    tools: bool
    calls: bool
    parallel_calls: bool
    arguments: str
    content: str
    thinking_switch: bool
    header: str
    end: str
    reasoning: Marks | None
    answer: Marks | None
    call_shape: str
    call: str | None
    example: str


def draw_template(facts: TemplateFacts, console: Console) -> None:
    """Print what the template can do, how replies are written, and the example as it is."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _rows(facts):
        # Text, not str: a template's own words must not be taken for markup
        grid.add_row(label, Text(safe_for_terminal(value)))
    console.print(grid)
    console.print()
    console.print(Text("example", "bold"))
    console.print(Text(safe_for_terminal(facts.example)), soft_wrap=True)


def _rows(facts: TemplateFacts) -> list[tuple[str, str]]:
    if facts.calls:
        several = "several" if facts.parallel_calls else "one"
        calls = f"printed, {several} a turn, arguments as {_article(facts.arguments)}"
    else:
        calls = "not printed"
    return [
        ("system prompt", "printed" if facts.system else "put before the first question"),
        ("content", "text" if facts.content == "text" else "a list of parts"),
        ("tools", "printed" if facts.tools else "not printed"),
        ("earlier calls", calls),
        ("thinking", "can be switched" if facts.thinking_switch else "cannot be switched"),
        ("a turn begins", _shown(facts.header)),
        ("and ends", _shown(facts.end)),
        ("a thought", _between(facts.reasoning, "not marked")),
        ("an answer", _between(facts.answer, "not marked")),
        ("a call", facts.call_shape if facts.call is None else f"{facts.call_shape}: {facts.call}"),
    ]


def _article(kind: str) -> str:
    return "an object" if kind == "object" else "text"


def _between(marks: Marks | None, nothing: str) -> str:
    return f"{_shown(marks.start)} … {_shown(marks.end)}" if marks else nothing


def _shown(text: str) -> str:
    """A text with its line breaks visible."""
    return text.replace("\n", "\\n") or "nothing"
