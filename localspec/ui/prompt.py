"""Where the user's words come from: a line editor, a plain terminal, or a pipe.

Each is an object whose `read()` gives the next thing said. EOFError means that nothing more will
come, KeyboardInterrupt that Ctrl-C was pressed where there was nothing to clear. Knows the commands
by name only; `chat.py` does what is said.
"""

import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, create_output

from localspec.ui.commands import Command
from localspec.ui.history import PrivateHistory, encodable_text
from localspec.ui.output import Streams
from localspec.ui.terminal import can_move_cursor, is_terminal

_PROMPT = "> "
_MENU_ROWS = 6


class Prompt(Protocol):
    """A source of what the user says.

    Attributes:
        interactive: a person sits there, to be greeted and asked again.
    """

    interactive: bool

    def read(self) -> str:
        """The next thing said.

        Raises:
            EOFError: nothing more will come.
            KeyboardInterrupt: Ctrl-C, with nothing typed.
        """


def open_prompt(history_file: Path | None, commands: Iterable[Command]) -> Prompt:
    """The best prompt for what standard input and output are.

    Args:
        history_file: where the line editor keeps what was typed; None for nowhere.
        commands: what it completes after a slash.
    """
    if sys.stdin is None or not is_terminal(sys.stdin):
        return PipedPrompt()
    streams = Streams()
    screen = next((s for s in (streams.out, streams.err) if is_terminal(s)), streams.err)
    if can_move_cursor(screen):
        return EditorPrompt(screen, history_file, CommandCompleter(commands))
    return PlainPrompt(screen)


class EditorPrompt:
    """prompt_toolkit's editor: several lines, history, completion."""

    interactive = True

    def __init__(self, screen: TextIO, history_file: Path | None, completer: Completer) -> None:
        self._session: PromptSession[str] = PromptSession(
            _PROMPT,
            multiline=True,
            prompt_continuation="  ",
            history=PrivateHistory(history_file) if history_file else InMemoryHistory(),
            completer=completer,
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            reserve_space_for_menu=_MENU_ROWS,
            key_bindings=_keys(),
            enable_suspend=True,
            color_depth=ColorDepth.MONOCHROME if os.environ.get("NO_COLOR") else None,
            output=create_output(screen),
        )

    def read(self) -> str:
        """See `Prompt.read`."""
        return encodable_text(self._session.prompt())


class PlainPrompt:
    """A terminal that cannot move its cursor: lines as the system edits them."""

    interactive = True

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def read(self) -> str:
        """See `Prompt.read`. A backslash at the end of a line takes the next line in too."""
        lines = [self._line(_PROMPT)]
        while _continues(lines[-1]):
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


class CommandCompleter(Completer):
    """Completes the names of commands, and paths after those that want a FILE."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self._commands = tuple(commands)
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """What may stand before the cursor."""
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in before:
            return
        word, space, rest = before[1:].partition(" ")
        for command in self._commands:
            if not space and command.name.startswith(word.lower()):
                yield Completion(
                    command.name,
                    start_position=-len(word),
                    display=command.usage,
                    display_meta=command.help,
                )
            elif space and command.name == word.lower() and command.argument == "FILE":
                path = rest.lstrip()
                yield from self._paths.get_completions(Document(path), event)


def _continues(line: str) -> bool:
    """True for a line whose last backslash is not itself escaped by another."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _keys() -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and _continues(buffer.text):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c", filter=typing)
    @keys.add("<sigint>", filter=typing)
    def clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    return keys
