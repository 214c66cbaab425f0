"""Where the user's words come from: a line editor, a plain terminal, or a pipe.

Each is an object whose `read()` gives the next thing said. EOFError means that nothing more will
come, KeyboardInterrupt that Ctrl-C was pressed where there was nothing to clear. Knows the commands
by name only; `chat.py` does what is said.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TextIO

from localspec.ui.commands import Command
from localspec.ui.editor import PROMPT, CommandCompleter, EditorPrompt, continues
from localspec.ui.keyboard import keys_unseen
from localspec.ui.output import Streams
from localspec.ui.terminal import can_move_cursor, is_terminal


class Prompt(Protocol):
    """A source of what the user says.

    Attributes:
        interactive: a person sits there, to be greeted and asked again.
        cleared: during the last `read()`, Ctrl-C took away what was typed.
    """

    interactive: bool
    cleared: bool

    def read(self) -> str:
        """The next thing said.

        Raises:
            EOFError: nothing more will come.
            KeyboardInterrupt: Ctrl-C, with nothing typed.
        """


@contextmanager
def open_prompt(history_file: Path | None, commands: Iterable[Command]) -> Iterator[Prompt]:
    """The best prompt for what standard input and output are; closed, the terminal is as before.

    Args:
        history_file: where the line editor keeps what was typed; None for nowhere.
        commands: what it completes after a slash.
    """
    streams = Streams()
    screen = next((s for s in (streams.out, streams.err) if is_terminal(s)), streams.err)
    if sys.stdin is None or not is_terminal(sys.stdin):
        yield PipedPrompt()
    elif can_move_cursor(screen):
        with keys_unseen(sys.stdin, raw=True):
            yield EditorPrompt(screen, history_file, CommandCompleter(commands))
    else:
        yield PlainPrompt(screen)


class PlainPrompt:
    """A terminal that cannot move its cursor: lines as the system edits them."""

    interactive = True
    cleared = False

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def read(self) -> str:
        """See `Prompt.read`. A backslash at the end of a line takes the next line in too."""
        lines = [self._line(PROMPT)]
        while continues(lines[-1]):
            lines[-1] = lines[-1][:-1]
            lines.append(self._line("  "))
        return "\n".join(lines)

    def _line(self, prompt: str) -> str:
        self._screen.write(prompt)
        self._screen.flush()
        try:
            return input()
        except (EOFError, KeyboardInterrupt):
            self._screen.write("\n")
            raise


class PipedPrompt:
    """Standard input that is no terminal: each line is said by itself, as UTF-8."""

    interactive = False
    cleared = False

    def __init__(self) -> None:
        self._lines = sys.stdin or io.StringIO()
        if isinstance(self._lines, io.TextIOWrapper):
            self._lines.reconfigure(encoding="utf-8", errors="replace")

    def read(self) -> str:
        """See `Prompt.read`."""
        line = self._lines.readline()
        if not line:
            raise EOFError
        return line.removesuffix("\n").removeprefix("\ufeff")
