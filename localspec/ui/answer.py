"""Draws one answer: its text on standard output, everything about it on standard error.

Where both are the same terminal, the text, the dimmed thought before it and the status line share
one `LiveText`, and lines break between words. Where standard output goes elsewhere, it gets the
answer's characters and no others. Events in, terminal out: it knows nothing of sessions.
"""

from contextlib import ExitStack
from types import TracebackType
from typing import Self, TextIO

from rich.text import Text

from localspec.events import (
    AnswerEvent,
    Finished,
    LiveNumbers,
    Notice,
    PrefillProgress,
    ReasoningDelta,
    RoundDone,
    TextDelta,
)
from localspec.ui.keyboard import Suspension, keys_unseen
from localspec.ui.live import DIM, GREEN, LiveText
from localspec.ui.output import Streams, say, show_notice
from localspec.ui.sanitize import TerminalText
from localspec.ui.status import (
    DOT,
    TIMES,
    live_line,
    prefill_line,
    stopped_lines,
    summary_lines,
)
from localspec.ui.terminal import (
    can_encode,
    can_move_cursor,
    has_color,
    is_terminal,
    same_terminal,
    terminal_size,
)
from localspec.ui.wrap import WordWrap

_UNLIMITED = 1 << 30


class AnswerView:
    """Give it the events of one answer; close it (it is a context manager) in any case.

    The cursor must be at the start of a line at first, and is again at the end.

    Args:
        show_drafts: colour the text of accepted draft tokens, where there is colour.
        legend: say below the answer what that colour means.
        quiet: the answer and nothing else.
        show_reasoning: show the thought before the answer.
    """

    def __init__(
        self,
        *,
        show_drafts: bool = False,
        legend: bool = True,
        quiet: bool = False,
        show_reasoning: bool = True,
    ) -> None:
        streams = Streams()
        self._err = streams.err
        shared = same_terminal(streams.out, streams.err)
        self._answer = _Writer(streams.out, quiet=quiet or not shared)
        self._side = self._answer if shared else _Writer(streams.err, quiet=quiet)
        if is_terminal(streams.out):
            self._live = self._answer.live
        else:
            self._live = self._side.live
        self._draft_style = GREEN if show_drafts and has_color(streams.out) else ""
        self._legend = show_drafts and legend
        self._quiet = quiet
        self._show_reasoning = show_reasoning and not quiet
        self._ascii = not can_encode(DOT + TIMES, streams.err)
        self._numbers: LiveNumbers | None = None
        self._thinking = False
        self._keys = ExitStack()
        self._suspension = Suspension(self._live.stream)

    def show(self, event: AnswerEvent) -> None:
        """Draw the next event.

        Raises:
            BrokenPipeError: whoever read the answer has gone.
        """
        if self._suspension.requested:
            self._live.clear_status()
            self._side.break_line()
            self._answer.break_line()
            self._suspension.now()
        match event:
            case TextDelta(text, drafted):
                self._end_thought()
                self._answer.write(text, self._draft_style if drafted else "")
            case ReasoningDelta(text) if self._show_reasoning:
                self._thinking = True
                self._side.write(text, DIM if self._side.styled else "")
            case PrefillProgress():
                self._live.status(lambda n: prefill_line(event, n, ascii_only=self._ascii))
            case RoundDone(live=numbers):
                self._numbers = numbers
                self._live.status(lambda n: live_line(numbers, n, ascii_only=self._ascii))
            case Notice() if not self._quiet:
                self._side.live.clear_status()
                self._side.end_line()
                show_notice(event)
            case Finished():
                self._close(summary_lines(event, self._cells(), ascii_only=self._ascii))

    def stopped(self, finished: Finished | None = None) -> None:
        """Say that the answer was stopped, with its figures: `finished`, or the last live ones."""
        if finished is None:
            self._close(stopped_lines(self._numbers, self._cells(), ascii_only=self._ascii))
        else:
            self.show(finished)

    def __enter__(self) -> Self:
        if self._live.can_draw:
            self._keys.enter_context(keys_unseen(self._live.stream, raw=False))
            self._keys.enter_context(self._suspension)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._keys:
            self._live.__exit__(kind, error, traceback)
            if not isinstance(error, OSError):
                self._end()

    def _cells(self) -> int:
        """Room for a line of figures."""
        columns = terminal_size(self._err)[0] if is_terminal(self._err) else 0
        return columns or _UNLIMITED

    def _close(self, summary: list[str]) -> None:
        self._live.clear_status()
        self._end()
        if self._quiet:
            return
        for line in summary:
            say(Text(line, "dim"), self._err)
        if self._legend and self._draft_style:
            legend = Text.assemble(("Green", "green"), (": drafted, and accepted.", "dim"))
            say(legend, self._err)
        elif self._legend:
            say(Text("Drafts are shown in colour, and there is none here.", "dim"), self._err)

    def _end(self) -> None:
        self._side.end_line()
        self._answer.end_line()

    def _end_thought(self) -> None:
        if self._thinking:
            self._thinking = False
            self._side.end_line()
            self._side.write("\n", "")


class _Writer:
    """One stream: its text made safe where a terminal would obey it, and otherwise as it is.

    Where the cursor can be moved, lines break between words. Elsewhere keys are echoed, and would
    come before a word that is held back.
    """

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self.styled = can_move_cursor(stream)
        self._safe = TerminalText() if is_terminal(stream) else None
        self._wrap = WordWrap() if self.styled else None
        self.live = LiveText(stream, quiet=quiet)

    def write(self, text: str, style: str) -> None:
        text = self._safe.feed(text) if self._safe else text
        if self._wrap is None:
            self.live.write(text, style)
            return
        for piece in self._wrap.feed(text, style, terminal_size(self.live.stream)[0]):
            self.live.write(*piece)

    def end_line(self) -> None:
        """Write what was held back, and a new line unless the text ends with one."""
        if self._wrap is not None:
            for piece in self._wrap.flush():
                self.live.write(*piece)
        self.break_line()

    def break_line(self) -> None:
        """A new line unless the text ends with one; a word that is held back comes below."""
        self.live.end_line()
        if self._wrap is not None:
            self._wrap.at_line_start()
