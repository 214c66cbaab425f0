"""Where things go: answers and data to standard output, everything else to standard error.

Whatever is shown of a message is made safe first: it may quote a file or a server. The answer
itself has its own file, `answer.py`.
"""

import io
import json
import os
import sys
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console
from rich.text import Text

from localspec.errors import LocalspecError
from localspec.events import Notice
from localspec.ui.sanitize import safe_for_terminal
from localspec.ui.terminal import can_encode, can_move_cursor, encodable, has_color

_LONGEST = 1000
"""Characters of an error."""


def _standard_output() -> TextIO:
    return sys.stdout or io.StringIO()


def _standard_error() -> TextIO:
    return sys.stderr or io.StringIO()


@dataclass(frozen=True, slots=True)
class Streams:
    """The two streams of a command: those of the process, or nowhere where it has none."""

    out: TextIO = field(default_factory=_standard_output)
    err: TextIO = field(default_factory=_standard_error)


def prepare_streams() -> None:
    """Let no character and no closed stream end the program; call once at the start.

    On Windows, output that goes to a file or a pipe is UTF-8 with plain new lines: the encoding of
    the system's language would lose characters of the answer.
    """
    if os.environ.get("COLUMNS", "").strip() == "0":
        # what some programs say where there is no terminal; Rich would draw nothing
        del os.environ["COLUMNS"]
    # None where the shell closed a stream (>&-)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        reconfigure(errors="backslashreplace")
        if sys.platform == "win32" and not stream.isatty():
            reconfigure(encoding="utf-8", newline="\n")


def show_error(error: LocalspecError) -> None:
    """One line "error: …" on standard error, in red where there is colour, and the hint below."""
    message = " ".join(safe_for_terminal(error.message).split("\n"))
    if len(message) > _LONGEST:
        # it quotes a file or a server that says no end of things
        message = f"{message[:_LONGEST]} …"
    say(Text.assemble(("error: ", "bold red"), (message, "red")))
    if error.hint:
        say(Text("  " + safe_for_terminal(error.hint)))


def show_notice(notice: Notice) -> None:
    """A notice and its hint on standard error."""
    say(Text(safe_for_terminal(notice.message), "yellow"))
    if notice.hint:
        say(Text("  " + safe_for_terminal(notice.hint)))


def say(text: Text, stream: TextIO | None = None) -> None:
    """Write a line of styled text, never wrapped or read as markup; to standard error if None."""
    stream = stream or Streams().err
    # Styles go only where they are understood; Rich leaves bold in where NO_COLOR is set.
    if has_color(stream) or can_move_cursor(stream):
        console = Console(file=stream, highlight=False, legacy_windows=False)
        text = Text(encodable(text.plain, stream), text.style, spans=text.spans)
        console.print(text, soft_wrap=True)
    else:
        stream.write(encodable(text.plain, stream) + "\n")
    stream.flush()


def print_json(obj: object, *, indent: int | None = None) -> None:
    """Print an object as JSON on standard output, one line unless `indent` is given.

    Characters that the stream cannot encode are written as JSON escapes.
    """
    stream = Streams().out
    text = json.dumps(obj, ensure_ascii=False, indent=indent)
    if not can_encode(text, stream):
        text = json.dumps(obj, indent=indent)
    stream.write(text + "\n")
    stream.flush()
