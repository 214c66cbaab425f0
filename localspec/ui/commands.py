"""The slash commands of the chat: reading them, checking them, carrying them out.

A command acts on a `Conversation` and says on standard error what it did. Where it makes the model
answer, it hands the events back to `chat.py`, which draws every answer.
"""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from localspec.errors import LocalspecError, UsageError
from localspec.events import AnswerEvent
from localspec.ui.conversation import Conversation
from localspec.ui.output import say
from localspec.ui.sanitize import safe_for_terminal

Answer = Iterator[AnswerEvent]


class Leave(Exception):
    """The user wants to leave the chat."""


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command.

    Attributes:
        name: what is typed after the slash.
        argument: what follows it: "" for nothing, "FILE" if it must, "[TEXT]" if it may.
        help: what it does.
        run: does it, given what was typed after the name.
    """

    name: str
    argument: str
    help: str
    run: Callable[["SlashCommands", str], Answer | None]

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        """True if it makes no sense alone."""
        return bool(self.argument) and not self.argument.startswith("[")


class SlashCommands:
    """Carries out slash commands on `conversation`."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def run(self, line: str) -> Answer | None:
        """Carry out a line that begins with a slash; returns an answer to draw, if it asks for one.

        Raises:
            Leave: the user wants to leave.
            UsageError: no such command, or not with these words.
            LocalspecError: the command failed; the conversation is as it was.
        """
        word, argument = [*line[1:].split(maxsplit=1), "", ""][:2]
        command, argument = _find(word, line), argument.strip()
        if argument and not command.argument:
            raise UsageError(f"/{command.name} takes nothing after it.", f"Type {command.usage}")
        if command.needs_argument and not argument:
            raise UsageError(f"/{command.name} needs a file name.", f"Type {command.usage}")
        try:
            return command.run(self, argument)
        except BrokenPipeError:
            raise
        except OSError as error:
            # a name that is too long, a folder that may not be looked into
            raise LocalspecError(
                f"The system refused: {error}.", f"Type {command.usage}"
            ) from error


def _find(word: str, line: str) -> Command:
    for command in COMMANDS:
        if command.name == word.lower():
            return command
    names = [command.name for command in COMMANDS]
    begun = [name for name in names if word and name.startswith(word.lower())]
    close = begun or difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    first_line = line.split("\n", 1)[0]
    raise UsageError(
        f"There is no command /{word}." + (f" Did you mean /{close[0]}?" if close else ""),
        f"/help lists them. To send a text that begins with a slash: /{first_line[:40]}",
    )


def _help(_: SlashCommands, __: str) -> None:
    rows = [(command.usage, command.help) for command in COMMANDS]
    _table([*rows, ("//TEXT", "send a text that begins with a slash")])
    _done(
        "A FILE with blanks in its name goes between quotes.\n"
        "Enter sends. Alt-Enter, Ctrl-J, or a backslash at the end of a line: a new line.\n"
        "Ctrl-C stops an answer and clears what is typed; Ctrl-D leaves."
    )


def _reset(chat: SlashCommands, _: str) -> None:
    chat.conversation.reset()
    _done("What was said is forgotten.")


def _system(chat: SlashCommands, text: str) -> None:
    if text:
        chat.conversation.set_system(None if text.lower() == "none" else text)
    system = chat.conversation.system
    _done(f"System prompt: {system}" if system else "There is no system prompt.")


def _model(chat: SlashCommands, name: str) -> None:
    if name:
        chat.conversation.switch_model(name)
    _done(who_answers(chat.conversation))


def _stats(chat: SlashCommands, _: str) -> None:
    _table(chat.conversation.stats())


def _save(chat: SlashCommands, argument: str) -> None:
    path = _path(argument, "save")
    if path.exists():
        raise UsageError(f"{path} exists already.", f"To replace it: /save! {_quoted(argument)}")
    _write(chat, path)


def _replace(chat: SlashCommands, argument: str) -> None:
    _write(chat, _path(argument, "save!"))


def _write(chat: SlashCommands, path: Path) -> None:
    chat.conversation.save(path)
    _done(f"Saved as {path}.")


def _load(chat: SlashCommands, argument: str) -> None:
    path = _path(argument, "load")
    n_messages = chat.conversation.load(path)
    _done(f"Loaded {n_messages} message{'' if n_messages == 1 else 's'} from {path}.")


def _regen(chat: SlashCommands, _: str) -> Answer:
    return chat.conversation.regenerate()


def _quit(_: SlashCommands, __: str) -> None:
    raise Leave


COMMANDS = (
    Command("help", "", "list the commands and keys", _help),
    Command("reset", "", "forget what was said; the system prompt stays", _reset),
    Command("system", "[TEXT]", "set the system prompt (none: without one), or show it", _system),
    Command("model", "[NAME]", "go on with another model, or show which answers", _model),
    Command("stats", "", "figures of the last answer", _stats),
    Command("save", "FILE", "write the conversation to a new file", _save),
    Command("save!", "FILE", "the same, and replace a file that is there", _replace),
    Command("load", "FILE", "take a conversation up from a file", _load),
    Command("regen", "", "answer the last question again", _regen),
    Command("quit", "", "leave", _quit),
    Command("exit", "", "leave, too", _quit),
)


def who_answers(conversation: Conversation) -> str:
    """One line: the model and what drafts for it."""
    drafter = conversation.drafter_name
    drafted = "without a drafter" if drafter == "none" else f"drafter: {drafter}"
    return f"{conversation.model_name}, {drafted}"


def _path(argument: str, command: str) -> Path:
    """The one file that is meant; blanks need quotes, or a file that has them already."""
    name = _unquoted(argument)
    if "\0" in name:
        raise UsageError("A file name cannot hold a NUL character.", "Give another name.")
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:
        raise UsageError(f"There is no home folder for {name}.", "Give a whole path.") from error
    if name == argument and len(name.split()) > 1 and not path.exists():
        raise UsageError(
            f"/{command} takes one file name, and this is {len(name.split())} words.",
            f"If blanks belong to the name: /{command} {_quoted(name)}",
        )
    return path


def _unquoted(argument: str) -> str:
    quoted = len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "\"'"
    return argument[1:-1] if quoted else argument


def _quoted(argument: str) -> str:
    if len(argument.split()) == 1 or _unquoted(argument) != argument:
        return argument
    quote = "'" if '"' in argument else '"'
    return f"{quote}{argument}{quote}"


def _table(rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        label = f"{safe_for_terminal(name):<{width}}"
        say(Text.assemble((label, "bold"), safe_for_terminal(value)))


def _done(sentence: str) -> None:
    say(Text(safe_for_terminal(sentence), "dim"))
