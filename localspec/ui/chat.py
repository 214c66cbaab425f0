"""The chat in the terminal: reads what is said, draws the answers, survives what goes wrong.

Words come from `prompt.py`, commands go to `commands.py`, events are drawn by `answer.py`. It knows
the model only as a `Conversation`.
"""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from localspec.errors import LocalspecError
from localspec.events import Finished, Notice
from localspec.ui.answer import AnswerView
from localspec.ui.commands import COMMANDS, Answer, Leave, SlashCommands, who_answers
from localspec.ui.conversation import Conversation
from localspec.ui.interrupt import Interrupt
from localspec.ui.output import say, show_error, show_notice
from localspec.ui.prompt import Prompt, open_prompt
from localspec.ui.sanitize import safe_for_terminal


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a chat looks.

    Attributes:
        history_file: where what was typed is kept; None for nowhere.
        show_drafts: colour the text of accepted draft tokens.
        quiet: the answers and nothing else.
    """

    history_file: Path | None = None
    show_drafts: bool = False
    quiet: bool = False


def run_chat(conversation: Conversation, options: ChatOptions) -> None:
    """Chat until the user leaves.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed twice during one answer or command, or once without a
            person at the prompt.
        BrokenPipeError: whoever read the answers has gone.
    """
    with open_prompt(options.history_file, COMMANDS) as prompt:
        _converse(conversation, prompt, options)


def _converse(conversation: Conversation, prompt: Prompt, options: ChatOptions) -> None:
    if prompt.interactive and not options.quiet:
        line = f"{who_answers(conversation)}. /help lists the commands, Ctrl-D leaves."
        say(Text(safe_for_terminal(line), "dim"))
    commands = SlashCommands(conversation)
    legend, anything = True, False
    while (said := _next(prompt)) is not None:
        anything = anything or bool(said.strip())
        key = Interrupt()
        try:
            with key:
                answer = _answer_to(said, conversation, commands)
                if answer is not None:
                    _draw(answer, key, options, legend=legend)
                    legend = False
        except Leave:
            return
        except LocalspecError as error:
            show_error(error)
        if key.requested and not prompt.interactive:
            raise KeyboardInterrupt
    if not (anything or prompt.interactive or options.quiet):
        show_notice(
            Notice(
                "Standard input is no terminal and holds no line, so nothing was said.",
                'Start the chat in a terminal, or ask once: localspec run "your question"',
            )
        )


def _next(prompt: Prompt) -> str | None:
    """What is said next; None if the user leaves."""
    warned = False
    while True:
        try:
            return prompt.read()
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not prompt.interactive:
                raise
            if warned and not prompt.cleared:
                return None
        warned = True
        show_notice(Notice("Press Ctrl-C again to leave, or Ctrl-D."))


def _answer_to(said: str, conversation: Conversation, commands: SlashCommands) -> Answer | None:
    """Do what is said; returns the answer to draw, None if there is nothing to answer."""
    if not said.strip():
        return None
    line = said.lstrip()
    if line.startswith("//"):
        return conversation.send(line[1:])
    if line.startswith("/"):
        return commands.run(line)
    return conversation.send(said)


def _draw(events: Answer, key: Interrupt, options: ChatOptions, *, legend: bool) -> None:
    """Draw an answer, as far as it comes before Ctrl-C is pressed."""
    with AnswerView(show_drafts=options.show_drafts, legend=legend, quiet=options.quiet) as view:
        complete = False
        try:
            for event in events:
                view.show(event)
                complete = isinstance(event, Finished)
                if key.requested:
                    break
        finally:
            if isinstance(events, Generator):
                events.close()
        if key.requested and not complete:
            view.stopped()
