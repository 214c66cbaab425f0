"""Suites of prompts: our own, or a file of JSON lines.

A line has `turns` (texts, each answered before the next is sent, as in Spec-Bench) or OpenAI
`messages`; an answer is written after each message of the user that no given answer follows.
"""

import difflib
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn, TypeGuard, cast

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.messages import Message, Role
from localspec.paths import expanded
from localspec.textfile import read_text

BUILT_IN = "builtin"
_SHIPPED = {BUILT_IN: "suite.jsonl"}
_HINT = 'A line is like {"id": "a-1", "class": "code", "turns": ["Write …"]}'
_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """One prompt of a suite.

    Attributes:
        prompt_id: its name, unlike all others of the suite.
        prompt_class: what kind of task it is: "code", "edit", …
        turns: the messages that are added before each answer; the last of each is the user's.
        system: the system prompt, None for none.
    """

    prompt_id: str
    prompt_class: str
    turns: tuple[tuple[Message, ...], ...]
    system: str | None = None


def load_suite(name_or_path: str) -> list[BenchPrompt]:
    """The prompts of a shipped suite, or of a file.

    Raises:
        NotFoundError: neither a shipped suite nor a file.
        UnsupportedFileError: a line is wrong, or there is no prompt in it.
        LocalspecError: the file cannot be read.
    """
    if name_or_path in _SHIPPED:
        source = resources.files("localspec.bench") / _SHIPPED[name_or_path]
        return parse_suite(source.read_text(encoding="utf-8"), name_or_path)
    path = expanded(name_or_path)
    try:
        return parse_suite(read_text(path), str(path))
    except FileNotFoundError as error:
        raise _unknown(name_or_path) from error
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(f"The suite {path} is not UTF-8 text.", _HINT) from error
    except OSError as error:
        raise LocalspecError(
            f"Cannot read the suite {path}: {error.strerror or error}.",
            "Give a file of JSON lines: --suite FILE",
        ) from error


def parse_suite(text: str, name: str) -> list[BenchPrompt]:
    """The prompts in JSON lines; empty lines are passed over.

    Raises:
        UnsupportedFileError: a line is wrong (its number is said), or there is no prompt.
    """
    prompts: list[BenchPrompt] = []
    seen: dict[str, int] = {}
    # not splitlines(): JSON text may hold characters that it takes for line ends
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        prompt = _prompt(line, f"Line {number} of {name}", f"line-{number}")
        if prompt.prompt_id in seen:
            _refuse(
                f"Line {number} of {name}",
                f"has the id {prompt.prompt_id!r} of line {seen[prompt.prompt_id]}",
            )
        seen[prompt.prompt_id] = number
        prompts.append(prompt)
    if not prompts:
        raise UnsupportedFileError(f"The suite {name} is empty.", _HINT)
    return prompts


def spread(prompts: list[BenchPrompt], limit: int | None) -> list[BenchPrompt]:
    """`limit` of the prompts, taken in turn from each class, in the order of the suite."""
    if limit is None or limit >= len(prompts):
        return prompts
    nth: dict[str, int] = {}
    ranks: list[tuple[int, int]] = []
    for i, prompt in enumerate(prompts):
        rank = nth[prompt.prompt_class] = nth.get(prompt.prompt_class, -1) + 1
        ranks.append((rank, i))
    return [prompts[i] for i in sorted(i for _, i in sorted(ranks)[:limit])]


def _unknown(name: str) -> NotFoundError:
    looks_like_a_file = len(Path(name).parts) > 1 or Path(name).suffix
    beside = [] if looks_like_a_file else [p.name for p in Path().glob("*.jsonl")]
    close = difflib.get_close_matches(name.lower(), [*_SHIPPED, *beside], n=1, cutoff=0.5)
    if looks_like_a_file:
        return NotFoundError(f"There is no suite file {name}.", f"Our own: --suite {BUILT_IN}")
    meant = f"Did you mean {close[0]}? " if close else ""
    return NotFoundError(
        f"There is no suite '{name}'.", f"{meant}Our own: {BUILT_IN}; or give a file of JSON lines"
    )


def _prompt(line: str, where: str, default_id: str) -> BenchPrompt:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        _refuse(where, "is not JSON")
    if not isinstance(values, dict):
        _refuse(where, "is not a JSON object")
    try:
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        _refuse(where, "holds half of a surrogate pair, which is no text")
    prompt_id = _word(values, ("id", "question_id", "prompt_id"), default_id, where)
    prompt_class = _word(values, ("class", "category"), "other", where)
    if "turns" in values:
        turns = values["turns"]
        if not isinstance(turns, list) or not turns or not all(_is_text(t) for t in turns):
            _refuse(where, 'has "turns" that are not a list of texts')
        return BenchPrompt(prompt_id, prompt_class, tuple((Message("user", t),) for t in turns))
    if "messages" not in values:
        _refuse(where, 'has neither "turns" nor "messages"')
    system, turns = _conversation(values["messages"], where)
    return BenchPrompt(prompt_id, prompt_class, turns, system)


def _conversation(given: object, where: str) -> tuple[str | None, tuple[tuple[Message, ...], ...]]:
    if not isinstance(given, list) or not all(isinstance(m, dict) for m in given):
        _refuse(where, 'has "messages" that are not a list of objects')
    messages = [_message(m, where) for m in given]
    system = None
    if messages and messages[0].role == "system":
        system = messages.pop(0).content
    if any(m.role == "system" for m in messages):
        _refuse(where, "has a system message that is not the first")
    if not messages or messages[-1].role != "user":
        _refuse(where, "does not end with a message of the user")
    turns: list[tuple[Message, ...]] = []
    pending: list[Message] = []
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        pending.append(message)
        if message.role == "user" and (following is None or following.role == "user"):
            turns.append(tuple(pending))
            pending = []
    return system, tuple(turns)


def _message(values: dict[str, Any], where: str) -> Message:
    role, content = values.get("role"), values.get("content")
    role = "system" if role == "developer" else role
    if role not in _ROLES:
        _refuse(where, f"has a message that is not of {', '.join(_ROLES)}")
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        content = "\n".join(texts) if len(texts) == len(parts) else None
    if not _is_text(content):
        _refuse(where, "has a message without text")
    return Message(cast("Role", role), content)


def _word(values: dict[str, Any], keys: tuple[str, ...], default: str, where: str) -> str:
    for key in keys:
        if key in values:
            value = values[key]
            if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
                _refuse(where, f'has a "{key}" that is neither a word nor a number')
            return str(value)
    return default


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _refuse(where: str, what: str) -> NoReturn:
    raise UnsupportedFileError(f"{where} {what}.", _HINT)
