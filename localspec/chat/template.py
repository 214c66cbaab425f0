"""A model's own chat template: messages in, prompt text out.

The template is Jinja from the GGUF (or a named one of ours). It is rendered in the sandbox of
`sandbox.py` with messages adapted by `adapt.py`. No tokens here: the session tokenizes the text,
and asks `starts_with_bos` whether the tokenizer may still add the beginning-of-sequence token.
"""

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

import jinja2

from localspec.chat.abilities import Abilities, find_abilities
from localspec.chat.adapt import adapt, one_call_a_turn
from localspec.chat.budget import Budget, weight
from localspec.chat.sandbox import BoundedEnvironment
from localspec.chat.turns import Turn, plain_turn, to_tool, to_turn
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message, ToolSpec

_ASK, _SAY = "qzask", "qzsay"
_HINT = "Send the prompt without the template: add --raw"

# Faulty template code can raise any of these; nothing of ours runs inside it.
_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


class ChatTemplate:
    """A compiled template.

    Args:
        source: Jinja source.
        bos: text of the beginning-of-sequence token, empty if there is none.
        eos: text of the end-of-sequence token, empty if there is none.
        clock: what time it is, for templates that print the date.
        seconds: how long one rendering may take.

    Raises:
        UnsupportedFileError: the source is not a valid template.
    """

    def __init__(
        self,
        source: str,
        bos: str,
        eos: str,
        *,
        clock: Callable[[], datetime] = datetime.now,
        seconds: float = 5.0,
    ) -> None:
        self.source = source
        self.bos = bos
        self.eos = eos
        self._clock = clock
        self._seconds = seconds
        self._environment = BoundedEnvironment(clock)
        self._lock = threading.Lock()
        try:
            self._template = self._environment.load(source)
        except _FAULTS as error:
            raise UnsupportedFileError(
                f"The chat template is not valid Jinja: {_reason(error)}.", _HINT
            ) from error

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        add_generation_prompt: bool = True,
        extras: Mapping[str, object] | None = None,
    ) -> str:
        """The prompt text of a conversation.

        Args:
            messages: the conversation, oldest first.
            tools: what the model may call.
            add_generation_prompt: end with what opens the assistant's turn.
            extras: further variables. `enable_thinking` is True unless given here.

        Raises:
            LocalspecError: the template refuses these messages; its own words are in the error.
            UnsupportedFileError: rendering takes too much time or memory.
        """
        turns = [to_turn(message) for message in messages]
        if not self.abilities.parallel_calls:
            turns = one_call_a_turn(turns)
        return self.render_turns(
            turns,
            tools=[to_tool(spec) for spec in tools],
            add_generation_prompt=add_generation_prompt,
            extras=extras,
        )

    def render_turns(
        self,
        turns: Sequence[Turn],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        add_generation_prompt: bool = True,
        extras: Mapping[str, object] | None = None,
    ) -> str:
        """`render` for messages and tools already in the shape that templates see."""
        kept = [{key: value for key, value in turn.items() if value is not None} for turn in turns]
        if tools:
            # left out where there are none: some templates take null for a list
            extras = {**(extras or {}), "tools": tools}
        adapted = adapt(kept, self.abilities)
        text = self._render(adapted, add_generation_prompt, extras)
        if add_generation_prompt and adapted and adapted[-1]["role"] == "tool":
            return text + self._missing_opening(text, adapted, extras)
        return text

    def starts_with_bos(self, rendered: str) -> bool:
        """True if the prompt has the beginning-of-sequence token, so none must be added."""
        return bool(self.bos) and rendered.startswith(self.bos)

    @cached_property
    def abilities(self) -> Abilities:
        """What the template can take, tried out once."""
        return find_abilities(self._render)

    def _missing_opening(
        self, text: str, turns: Sequence[Turn], extras: Mapping[str, object] | None
    ) -> str:
        """What opens the turn of the model, where a template forgets it after the answer of a tool.

        Gemma 4's does so if the model has said something beside its call: the turn is closed after that, and
        what the model would write next would stand outside of any turn.
        """
        opening, end = self._turn
        closed = bool(end) and text.rstrip().endswith(end)
        if not opening or not closed or text != self._render(turns, False, extras):
            return ""
        return opening

    @cached_property
    def thinking_switch(self) -> bool:
        """True if its prompt depends on `enable_thinking`."""
        ask = plain_turn("user", _ASK, parts=self.abilities.parts)
        try:
            on, off = (self._render([ask], True, {"enable_thinking": on}) for on in (True, False))
        except UnsupportedFileError:
            raise
        except LocalspecError:
            return False
        return on != off

    @cached_property
    def _turn(self) -> tuple[str, str]:
        """What opens a turn of the model, and what ends it; empty where that cannot be told."""
        try:
            ask = plain_turn("user", _ASK, parts=self.abilities.parts)
            say = plain_turn("assistant", _SAY, parts=self.abilities.parts)
            asked, opened = self._render([ask], False), self._render([ask], True)
            end = self._render([ask, say], False).partition(_SAY)[2].strip()
        except UnsupportedFileError:
            raise
        except LocalspecError:
            return "", ""
        return (opened[len(asked) :], end) if opened.startswith(asked) else ("", "")

    def _render(
        self,
        turns: Sequence[Turn],
        add_generation_prompt: bool,
        extras: Mapping[str, object] | None = None,
    ) -> str:
        variables: dict[str, object] = {
            "bos_token": self.bos,
            "eos_token": self.eos,
            "enable_thinking": True,
            "date_string": self._clock().strftime("%d %b %Y"),
            **(extras or {}),
            "messages": turns,
            "add_generation_prompt": add_generation_prompt,
        }
        # a template may add to lists
        variables = copy.deepcopy(variables)
        # Only counts: the messages are the user's, and not what the limits are for.
        size = weight([*variables.items()], 1 << 62)
        with self._lock:
            self._environment.budget = Budget(size, len(turns), self._seconds)
            try:
                return self._template.render(variables)
            except _FAULTS as error:
                raise LocalspecError(
                    f"The chat template cannot render this conversation: {_reason(error)}.", _HINT
                ) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply, or calls itself without end"
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{(error.message or '').rstrip('.')} (line {error.lineno})"
    return str(error).strip().rstrip(".") or type(error).__name__
