"""Reads what `localspec/trace.py` wrote: the rounds of each recorded answer."""

import io
import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.faults import faults_of
from localspec.textfile import read_text
from localspec.trace import KIND, VERSION

_HINT = "Record one: localspec bench --trace FILE --trace-full"

MOST_TEMPERATURE = 1000.0
_MOST_BYTES = 512 * 2**20

Tokens = list[Annotated[int, Field(ge=0)]]
Confidence = Annotated[float, Field(ge=0.0, le=1.000001)]
Seconds = Annotated[float, Field(ge=0.0)]


class RecordedRound(BaseModel):
    """One round of one answer.

    Attributes:
        position: index in the sequence, prompt included, of its first new token.
        drafter: kind of drafter that proposed, "" for none.
        proposals: ids, verified and spare.
        confidences: for each the drafter's probability, 0..1.
        n_verified: how many of them were verified.
        n_accepted: how many were accepted.
        tokens: new ids of the answer.
        draft_s: seconds spent drafting.
        verify_s: seconds of the pass.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    position: Annotated[int, Field(ge=0)]
    drafter: str
    proposals: Tokens
    confidences: list[Confidence]
    n_verified: Annotated[int, Field(ge=0)]
    n_accepted: Annotated[int, Field(ge=0)]
    tokens: Annotated[Tokens, Field(min_length=1)]
    draft_s: Seconds
    verify_s: Seconds


class RecordedPrompt(BaseModel):
    """One recorded answer.

    Attributes:
        prompt_id: which prompt.
        prompt_class: its class.
        arm: under which arm it was answered.
        prompt_tokens: ids of the prompt.
        rounds: in order; at least one.
        header: facts about the recording: model, drafter, temperature, …
    """

    model_config = ConfigDict(frozen=True, strict=True)

    prompt_id: str
    prompt_class: Annotated[str, Field(alias="class")]
    arm: str
    prompt_tokens: Annotated[Tokens, Field(alias="tokens")]
    rounds: list[RecordedRound] = []
    header: dict[str, Any] = {}

    @property
    def answer(self) -> list[int]:
        """All ids of the answer."""
        return [token for r in self.rounds for token in r.tokens]

    @property
    def temperature(self) -> float:
        """Temperature of the recording, 0 if it does not say."""
        return float(self.header.get("temperature", 0.0))


def read_trace(path: Path) -> list[RecordedPrompt]:
    """All answers of a trace, in order.

    A last line that was cut off, by Ctrl-C or a full disk, is left out.

    Raises:
        NotFoundError: no such file.
        UnsupportedFileError: no trace, one of another version, one with a line that is wrong, or
            one without answers.
    """
    lines = _lines(path)
    header = _header(path, 1, lines[0] if lines else "")
    prompts: list[RecordedPrompt] = []
    place = 0
    for number, line in enumerate(lines[1:], 2):
        try:
            if '"prompt_id"' in line:
                prompts.append(RecordedPrompt.model_validate_json(line))
                prompts[-1].header.update(header)
                place = len(prompts[-1].prompt_tokens)
                continue
            if f'"{KIND}"' in line and line.endswith("\n"):
                header = _header(path, number, line)
                continue
            done = RecordedRound.model_validate_json(line)
        except ValidationError as error:
            if not line.endswith("\n"):
                break
            _wrong(path, number, str(faults_of(error, "a trace")[0]))
        if not prompts:
            _wrong(path, number, "comes before any prompt")
        _check(path, number, done, place)
        prompts[-1].rounds.append(done)
        place += len(done.tokens)
    prompts = [p for p in prompts if p.rounds]
    if not prompts:
        raise UnsupportedFileError(f"There is no answer in the trace {path}.", _HINT)
    return prompts


def _lines(path: Path) -> list[str]:
    try:
        return list(io.StringIO(read_text(path, _MOST_BYTES), newline=None))
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no trace file {path}.", _HINT) from error
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(f"{path} is no trace: it is not UTF-8 text.", _HINT) from error
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.") from error


def _header(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("kind") != KIND:
        if number > 1:
            _wrong(path, number, "is neither a header nor a prompt nor a round")
        raise UnsupportedFileError(f"{path} is no trace: its first line does not say so.", _HINT)
    if header.get("version") != VERSION:
        raise UnsupportedFileError(
            f"{path} is a trace of version {header.get('version')}; this localspec reads {VERSION}.",
            "Record it again, or use the localspec that wrote it",
        )
    hottest = MOST_TEMPERATURE
    match header.get("temperature", 0.0):
        case int(t) | float(t) if 0 <= t <= hottest:
            return header
    _wrong(path, number, f"has a temperature that is not between 0 and {hottest:g}")


def _check(path: Path, number: int, done: RecordedRound, place: int) -> None:
    """That the figures of a round agree with each other and with the rounds before it."""
    if len(done.confidences) != len(done.proposals):
        _wrong(path, number, "has not one confidence for each proposal")
    if not done.n_accepted <= done.n_verified <= len(done.proposals):
        _wrong(path, number, "accepts more than it verifies, or verifies more than was proposed")
    if done.tokens[: done.n_accepted] != done.proposals[: done.n_accepted]:
        _wrong(path, number, "accepts other tokens than were proposed")
    if done.position != place:
        _wrong(path, number, f"begins at token {done.position} where {place} comes next")


def _wrong(path: Path, number: int, what: str) -> NoReturn:
    raise UnsupportedFileError(f"Line {number} of {path} {what}.", _HINT)
