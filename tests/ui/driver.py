"""A program that draws scripted events as `localspec run` would: `python -m tests.ui.driver KIND`.

Only the session is a fake; terminal, signals and streams are real. Options: `--drafts`, `--quiet`,
`--pace SECONDS` between two events, `--long` for an answer longer than any screen.
"""

import argparse
import sys
import time
from collections.abc import Iterator

from localspec.events import AnswerEvent, PrefillProgress, ReasoningDelta
from localspec.ui.answer import AnswerView
from localspec.ui.interrupt import Interrupt
from tests.ui.screen import finished, streamed

SHORT = "Die Antwort ist 42.\nIt is \u6f22\u5b57, \U0001f680 and e\u0301.\n"
LONG = "".join(
    f"{i}: words of a paragraph, \u6f22\u5b57\u306e\u6587 and cafe\u0301, that go on and on"
    f"{' and on' * (i % 9)}.\n"
    for i in range(40)
)


def events(text: str) -> Iterator[AnswerEvent]:
    """A whole answer."""
    yield PrefillProgress(0, 512, 0)
    yield PrefillProgress(512, 512, 0)
    yield ReasoningDelta("Let me think.\n")
    yield from streamed(text, size=5)
    yield finished(text)


def main() -> None:
    """Draw; leaves with 130 after Ctrl-C and with 0 if nobody reads on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--drafts", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--pace", type=float, default=0.0)
    options = parser.parse_args()
    with (
        AnswerView(show_drafts=options.drafts, quiet=options.quiet) as view,
        Interrupt() as key,
    ):
        for event in events(LONG if options.long else SHORT):
            view.show(event)
            time.sleep(options.pace)
            if key.requested:
                view.stopped()
                raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # what the command line does in this case
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
