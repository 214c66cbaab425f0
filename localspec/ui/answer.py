"""Draws one answer: its text on standard output, everything about it on standard error.

Where both are the same terminal, the text, the dimmed thought before it and the status line share
one `LiveText`. Where standard output goes elsewhere, it gets the answer's characters and no others.
Events in, terminal out: it knows nothing of sessions.
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
from localspec.ui.keyboard import keys_unseen
from localspec.ui.live import DIM, GREEN, LiveText
from localspec.ui.output import Streams, say, show_notice
from localspec.ui.sanitize import TerminalText
from localspec.ui.status import (
    DOT,
    TIMES,
    live_line,
    prefill_line,
    stopped_line,
    summary_line,
)
from localspec.ui.terminal import (
    can_encode,
    can_move_cursor,
    has_color,
    is_terminal,
    same_terminal,
)


class AnswerView:
    """Give it the events of one answer; close it (it is a context manager) in any case.

    The cursor must be at the start of a line at first, and is again at the end.

    Args:
        show_drafts: colour the text of accepted draft tokens, where there is colour.
        quiet: the answer and nothing else.
        show_reasoning: show the thought before the answer.
    """

    def __init__(
        self, *, show_drafts: bool = False, quiet: bool = False, show_reasoning: bool = True
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
        self._quiet = quiet
        self._show_reasoning = show_reasoning and not quiet
        self._ascii = not can_encode(DOT + TIMES, streams.err)
        self._numbers: LiveNumbers | None = None
        self._thinking = False
        self._keys = ExitStack()

    def show(self, event: AnswerEvent) -> None:
        """Draw the next event.

        Raises:
            BrokenPipeError: whoever read the answer has gone.
        """
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
                self._side.live.end_line()
                show_notice(event)
            case Finished():
                self._close(summary_line(event, ascii_only=self._ascii))

    def stopped(self, finished: Finished | None = None) -> None:
        """Say that the answer was stopped, with its figures: `finished`, or the last live ones."""
        if finished is None:
            self._close(stopped_line(self._numbers, ascii_only=self._ascii))
        else:
            self.show(finished)

    def __enter__(self) -> Self:
        if self._live.can_draw:
            self._keys.enter_context(keys_unseen(self._live.stream, raw=False))
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

    def _close(self, summary: str) -> None:
        self._live.clear_status()
        self._end()
        if not self._quiet:
            say(Text(summary, "dim"), self._err)

    def _end(self) -> None:
        self._side.live.end_line()
        self._answer.live.end_line()

    def _end_thought(self) -> None:
        if self._thinking:
            self._thinking = False
            self._side.live.end_line()
            self._side.live.write("\n")


class _Writer:
    """One stream: its text made safe where a terminal would obey it, and otherwise as it is."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self.styled = can_move_cursor(stream)
        self._safe = TerminalText() if is_terminal(stream) else None
        self.live = LiveText(stream, quiet=quiet)

    def write(self, text: str, style: str) -> None:
        self.live.write(self._safe.feed(text) if self._safe else text, style)
