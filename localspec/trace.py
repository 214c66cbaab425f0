"""What each round did, as JSON lines: written by `run`, `chat` and `bench`, read by `bench/trace.py`.

A header line, then for each answer a line with its prompt and one line a round; another header
where what answers changes:

    {"version": 1, "kind": "localspec-trace", "model": …, "drafter": …, "temperature": …, …}
    {"prompt_id": …, "class": …, "arm": …, "tokens": [ids of the prompt]}
    {"position": …, "drafter": …, "proposals": [ids], "confidences": [0..1], "n_verified": …,
     "n_accepted": …, "tokens": [ids], "draft_s": …, "verify_s": …}

The text itself is not in it, but whoever has the model can read it from the ids. So a new file may
be read by its owner alone.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from localspec.engine.loop import Round
from localspec.engine.sequence import Sequence
from localspec.errors import LocalspecError, unwritable

VERSION = 1
KIND = "localspec-trace"


class TraceWriter:
    """Writes a trace, over what is in the file; a context manager that closes it if it opened it.

    Args:
        target: path of the file, or an open text file.
        header: facts by name: "model", "drafter", "machine", "temperature", …; JSON values.
        on_failure: told once if the file cannot be written, here or later; nothing is written any
            more then. Without it the error is raised.

    Raises:
        LocalspecError: the file cannot be written, and there is no `on_failure`.
    """

    def __init__(
        self,
        target: Path | str | TextIO,
        header: Mapping[str, Any],
        on_failure: Callable[[LocalspecError], None] | None = None,
    ) -> None:
        self._owned = isinstance(target, Path | str)
        self._name = str(target) if isinstance(target, Path | str) else "the trace"
        self._on_failure = on_failure
        self._prompt: dict[str, Any] | None = None
        self._sequence: Sequence | None = None
        self._file: TextIO | None = None
        try:
            self._file = _opened(target) if isinstance(target, Path | str) else target
        except OSError as error:
            self._fail(error)
        self.header(header)

    def header(self, facts: Mapping[str, Any]) -> None:
        """Say how the rounds from here on are made. The first header is written by itself."""
        self._write({"version": VERSION, "kind": KIND, **facts})

    def prompt(self, prompt_id: str, prompt_class: str = "", arm: str = "") -> None:
        """The rounds from here on answer this prompt; its line is written with the first of them."""
        self._prompt = {"prompt_id": prompt_id, "class": prompt_class, "arm": arm}
        self._sequence = None

    def listener(
        self, prompt_ids: Iterator[str], prompt_class: str = "", arm: str = ""
    ) -> Callable[[Round], None]:
        """Writes the rounds of answers that follow each other; each takes the next of the ids."""
        heard: Sequence | None = None

        def hear(done: Round) -> None:
            nonlocal heard
            if done.sequence is not heard:
                heard = done.sequence
                self.prompt(next(prompt_ids), prompt_class, arm)
            self.round(done)

        return hear

    def round(self, done: Round) -> None:
        """Write one round, before the next is run; rounds that only read the prompt are left out.

        Raises:
            LocalspecError: the file cannot be written.
            ValueError: there was no prompt.
        """
        if not done.tokens:
            return
        sequence, draft = done.sequence, done.draft
        if sequence is not self._sequence:
            if self._prompt is None:
                raise ValueError("a round without a prompt")
            self._write({**self._prompt, "tokens": sequence.tokens[: sequence.n_prompt]})
            self._sequence, self._prompt = sequence, None
        confidences = draft.confidences + draft.spare_confidences
        self._write(
            {
                "position": len(sequence.tokens) - len(done.tokens),
                "drafter": draft.kind,
                "proposals": draft.tokens + draft.spare_tokens,
                "confidences": [round(float(c), 6) for c in confidences],
                "n_verified": len(draft.tokens),
                "n_accepted": done.n_accepted,
                "tokens": done.tokens,
                "draft_s": round(done.draft_s, 6),
                "verify_s": round(done.verify_s, 6),
            }
        )

    def close(self) -> None:
        """Close the file if this writer opened it, so that a full disk is noticed here."""
        if self._file is None:
            return
        try:
            if self._owned:
                self._file.close()
            else:
                self._file.flush()
        except OSError as error:
            self._fail(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        """Write no more, and say why."""
        file, self._file = self._file, None
        if file is not None and self._owned:
            # what is still to be flushed fails again
            with suppress(OSError):
                file.close()
        failure = unwritable(self._name, "--trace", error)
        if self._on_failure is None:
            raise failure from error
        self._on_failure(failure)


def _opened(path: Path | str) -> TextIO:
    """The file, emptied; a line at a time goes out, so that a kill leaves whole rounds.

    Half of a surrogate pair, which a model's name may hold, has no UTF-8, but it has a JSON escape.
    """
    return open(
        path,
        "w",
        buffering=1,
        encoding="utf-8",
        errors="backslashreplace",
        newline="\n",
        opener=lambda name, flags: os.open(name, flags, 0o600),
    )
