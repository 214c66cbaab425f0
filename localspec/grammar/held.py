"""What an answer is held to, checked before a model is asked."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.events import Notice
from localspec.paths import expanded
from localspec.textfile import read_text

_MOST_BYTES = 4 * 2**20
_N_BYTES = 256


@dataclass(frozen=True, slots=True)
class Held:
    """A grammar of answers.

    Attributes:
        grammar: in llguidance's form of JSON (`LLMatcher.grammar_from_…`).
        notices: what of the wish it does not hold an answer to.
    """

    grammar: str
    notices: tuple[Notice, ...] = ()


def held_to(grammar: str, called: str, hint: str, notices: tuple[Notice, ...] = ()) -> Held:
    """A grammar that can be followed.

    Raises:
        UsageError: it cannot; the reason names what stands in the way.
    """
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    if is_error:
        raise UsageError(f"{called} cannot be used: {_in_words(messages)}.", hint)
    matcher = LLMatcher(_bytes(), grammar, log_level=0)
    # where there is no way on, the end is what is left
    if not any(matcher.compute_bitmask()[: _N_BYTES // 8]) and not matcher.is_accepting():
        raise UsageError(f"{called} cannot be used: nothing fulfils it.", hint)
    warnings = tuple(Notice(f"{called}: {_warning(one)}") for one in messages)
    return Held(grammar, notices + warnings)


def text_of(path: str, option: str) -> str:
    """All of a file that an option named.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no text.
        LocalspecError: it cannot be read.
    """
    place = expanded(path)
    try:
        return read_text(place, _MOST_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {place}.", f"Name another: {option} FILE") from None
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not a text file.", f"Name another: {option} FILE") from None
    except OSError as error:
        raise LocalspecError(f"Cannot read {place}: {error.strerror or error}.") from error


def is_file(value: str) -> bool:
    """True if the value of an option is or looks like the path of a file."""
    return "/" in value or Path(value).suffix in (".json", ".gbnf", ".lark") or Path(value).exists()


def _in_words(messages: list[str]) -> str:
    """llguidance's message as a part of a sentence, without its position in what nobody wrote."""
    lines = [line.strip() for line in "\n".join(messages).splitlines() if line.strip()] or ["?"]
    if lines[0].startswith("Unimplemented keys: "):
        keys = json.loads(lines[0].removeprefix("Unimplemented keys: "))
        return f"answers cannot be held to {' and '.join(keys)}"
    if lines[0] == "regex parse error:":
        return f"the pattern {lines[1]} is not usable, {lines[-1].removeprefix('error: ')}"
    if "recursion limit" in lines[0]:
        return "it is nested too deep"
    return lines[0].rstrip(".")


def _warning(message: str) -> str:
    if message.startswith("oneOf"):
        return "oneOf is taken as anyOf, so an answer may fit several of its schemas."
    return message.strip().splitlines()[0]


@cache
def _bytes() -> LLTokenizer:
    """A vocabulary of single bytes, for what holds whatever the model."""
    return LLTokenizer(TokenizerWrapper(_Bytes()), n_vocab=_N_BYTES + 1, eos_token=[_N_BYTES])


class _Bytes:
    tokens = (*(bytes([i]) for i in range(_N_BYTES)), b"\xff<end>")
    special_token_ids = (_N_BYTES,)
    eos_token_id = _N_BYTES
    bos_token_id = None

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)
