"""A chat with a scripted conversation: `python -m tests.ui.chat_driver LOG [HISTORY] [--quiet]`.

Only the conversation is a fake; terminal, keys, signals and streams are real. LOG gets a JSON line
for each call. What is said decides the answer: it is repeated word by word; "slow" answers with 100
numbers at 20 a second; "stuck" makes no second event; "fail" fails after a word; "refuse" fails
at once. The model "large" takes half a second to open.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.events import AnswerEvent, PrefillProgress, RoundDone, TextDelta
from localspec.ui.chat import ChatOptions, run_chat
from localspec.ui.conversation import Conversation
from localspec.ui.output import show_error
from tests.ui.screen import finished, numbers


class ScriptedConversation:
    """Answers by the script and writes down what is asked of it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.model_name = "scripted (F32)"
        self.drafter_name = "parrot"
        self.system: str | None = None
        self._said: list[str] = []

    def send(self, text: str) -> Iterator[AnswerEvent]:
        self._note("send", text)
        if text == "refuse":
            raise LocalspecError("The prompt has 9000 tokens.", "Try --ctx 18000")
        self._said.append(text)
        return self._answer(text)

    def regenerate(self) -> Iterator[AnswerEvent]:
        if not self._said:
            raise UsageError("There is nothing to answer again yet.", "Ask something first.")
        self._note("regenerate", self._said[-1])
        return self._answer("again " + self._said[-1])

    def reset(self) -> None:
        self._note("reset")

    def set_system(self, text: str | None) -> None:
        self._note("system", text)
        self.system = text

    def save(self, path: Path) -> None:
        self._note("save", str(path))
        if not path.parent.exists():
            raise NotFoundError(f"There is no folder {path.parent}.", "Give another path.")
        path.write_text(json.dumps(self._said))

    def load(self, path: Path) -> int:
        if not path.exists():
            raise NotFoundError(f"There is no file {path}.", "Check the path.")
        self._said = json.loads(path.read_text())
        return len(self._said)

    def switch_model(self, name: str) -> None:
        if name == "nothing":
            raise NotFoundError("There is no model nothing.", "localspec models")
        if name == "large":
            self._note("opening")
            time.sleep(0.5)
        self.model_name = name

    def stats(self) -> list[tuple[str, str]]:
        return [("tokens/s", "21.5"), ("accepted", "5 (87 %)")]

    def _answer(self, text: str) -> Iterator[AnswerEvent]:
        n_sent, words, pause = 0, text.split(" "), 0.0
        if text.endswith("slow"):
            words, pause = [f"word{i}" for i in range(100)], 0.05
        try:
            yield PrefillProgress(8, 8, 0)
            for word in words:
                if n_sent and text == "fail":
                    raise LocalspecError("llama.cpp failed.", "Ask again.")
                n_sent += 1
                yield TextDelta(f"<{word}>")
                yield RoundDone(4, 3, numbers())
                time.sleep(pause)
                if text == "stuck":
                    self._hang()
            if text == "fail":
                raise LocalspecError("llama.cpp failed.", "Ask again.")
            yield finished(text)
        finally:
            self._note("end", n_sent)

    def _hang(self) -> None:
        """Never come back; say when the first Ctrl-C has been taken for a request."""
        asked = signal.getsignal(signal.SIGINT)
        assert callable(asked)

        def on_signal(number: int, frame: FrameType | None) -> None:
            asked(number, frame)
            self._note("pressed")

        signal.signal(signal.SIGINT, on_signal)
        self._note("stuck")
        while True:
            time.sleep(1)

    def _note(self, *what: object) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


def main() -> None:
    """Chat; exit codes are those of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("history", type=Path, nargs="?")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    conversation: Conversation = ScriptedConversation(arguments.log)
    try:
        run_chat(conversation, ChatOptions(arguments.history, quiet=arguments.quiet))
    except LocalspecError as error:
        show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
