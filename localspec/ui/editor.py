"""The line editor of the chat: several lines, history, completion of commands, Ctrl-C.

It is prompt_toolkit's, told what each key means here. It satisfies `Prompt` of `prompt.py`, which
picks it where the terminal can move its cursor.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, create_output

from localspec.ui.commands import Command
from localspec.ui.history import PrivateHistory, encodable_text

PROMPT = "> "
_MENU_ROWS = 6


class EditorPrompt:
    """prompt_toolkit's editor: several lines, history, completion."""

    interactive = True
    cleared = False

    def __init__(self, screen: TextIO, history_file: Path | None, completer: Completer) -> None:
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation="  ",
            history=PrivateHistory(history_file) if history_file else InMemoryHistory(),
            completer=completer,
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            reserve_space_for_menu=_MENU_ROWS,
            key_bindings=_keys(self._clear),
            enable_suspend=True,
            color_depth=ColorDepth.MONOCHROME if os.environ.get("NO_COLOR") else None,
            output=create_output(screen),
        )

    def read(self) -> str:
        """See `Prompt.read`."""
        self.cleared = False
        return encodable_text(self._session.prompt())

    def _clear(self, buffer: Buffer) -> None:
        buffer.reset()
        self.cleared = True


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
                    command.name + (" " if command.argument else ""),
                    start_position=-len(word),
                    display=command.usage,
                    display_meta=command.help,
                )
            elif space and command.name == word.lower() and command.argument == "FILE":
                path = rest.lstrip().lstrip("\"'")
                yield from self._paths.get_completions(Document(path), event)


def continues(line: str) -> bool:
    """True for a line whose last backslash is not itself escaped by another."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _keys(clear: Callable[[Buffer], None]) -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and continues(buffer.text):
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
    def interrupt(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            clear(event.current_buffer)
        else:
            event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    return keys
