"""What each round did, as JSON lines: written by `run`, `chat` and `bench`, read by `bench/trace.py`.

A header line, then for each answer a line with its prompt and one line a round:

    {"version": 1, "kind": "localspec-trace", "model": …, "drafter": …, "temperature": …, …}
    {"prompt_id": …, "class": …, "arm": …, "tokens": [ids of the prompt]}
    {"position": …, "drafter": …, "proposals": [ids], "confidences": [0..1], "n_verified": …,
     "n_accepted": …, "tokens": [ids], "draft_s": …, "verify_s": …}

The text itself is not in it, but whoever has the model can read it from the ids.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from localspec.engine.loop import Round
from localspec.engine.sequence import Sequence
from localspec.errors import LocalspecError

VERSION = 1
KIND = "localspec-trace"


class TraceWriter:
    """Writes a trace; a context manager that closes the file if it opened it.

    Args:
        target: path of the file, or an open text file.
        header: facts by name: "model", "drafter", "machine", "temperature", …; JSON values.

    Raises:
        LocalspecError: the file cannot be written.
    """

    def __init__(self, target: Path | str | TextIO, header: Mapping[str, Any]) -> None:
        self._owned = isinstance(target, Path | str)
        self._name = str(target) if isinstance(target, Path | str) else "the trace"
        self._file = self._opened(target) if isinstance(target, Path | str) else target
        self._prompt: dict[str, Any] | None = None
        self._sequence: Sequence | None = None
        self._write({"version": VERSION, "kind": KIND, **header})

    def prompt(self, prompt_id: str, prompt_class: str = "", arm: str = "") -> None:
        """The rounds from here on answer this prompt; its line is written with the first of them."""
        self._prompt = {"prompt_id": prompt_id, "class": prompt_class, "arm": arm}
        self._sequence = None

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
        try:
            if self._owned:
                self._file.close()
            else:
                self._file.flush()
        except OSError as error:
            raise self._failed(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self, path: Path | str) -> TextIO:
        try:
            # a line at a time, so that a run that is killed leaves whole rounds
            return Path(path).open("w", buffering=1, encoding="utf-8")
        except OSError as error:
            raise self._failed(error) from error

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> LocalspecError:
        return LocalspecError(
            f"Cannot write {self._name}: {error.strerror or error}.",
            "Name another file: --trace FILE",
        )
