"""Published cases of templates: a conversation and the prompt it makes, a reply and the message it means.

A case is a JSON object; one with `prompt` is a rendering, one with `expected` a parse. The fields are those of
OpenAI's messages, and `bos_token`, `eos_token`, `now` (seconds since 1970, UTC), `enable_thinking`,
`chat_template_kwargs`, `add_generation_prompt`; a parse has `generation_prompt` and `input` besides.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from localspec.chat.format import ChatFormat
from localspec.chat.pieces import CallPiece, Piece
from localspec.chat.reply import reader_of
from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError
from localspec.messages import ToolCall, ToolSpec

_SHORT, _N_SPLITS = 400, 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case. Attributes as in the JSON of `scripts/chat_cases`."""

    id: str
    kind: str
    ok: bool
    got: object
    expected: object


def read_cases(path: Path) -> list[Any]:
    """The cases of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def outcome(case: Any, folders: Sequence[Path]) -> Outcome:
    """Run a case with its template from one of the folders."""
    try:
        template = _template(case, folders)
        return _rendered(case, template) if "prompt" in case else _parsed(case, template)
    except LocalspecError as error:
        kind = "render" if "prompt" in case else "parse"
        return Outcome(case["id"], kind, False, error.message, case.get("prompt"))


def _template(case: Any, folders: Sequence[Path]) -> ChatTemplate:
    path = next(
        (folder / case["template"] for folder in folders if (folder / case["template"]).is_file()),
        None,
    )
    if path is None:
        raise LocalspecError(f"There is no template {case['template']}.")
    return _loaded(path, case["bos_token"] or "", case["eos_token"] or "", case["now"])


@cache
def _loaded(path: Path, bos: str, eos: str, now: float) -> ChatTemplate:
    source = path.read_text(encoding="utf-8")
    return ChatTemplate(source, bos, eos, clock=lambda: datetime.fromtimestamp(now, UTC))


def _rendered(case: Any, template: ChatTemplate) -> Outcome:
    thinking = case.get("enable_thinking")
    extras = {} if thinking is None else {"enable_thinking": thinking}
    got = template.render_turns(
        case["messages"],
        tools=case.get("tools") or (),
        add_generation_prompt=case.get("add_generation_prompt", True),
        extras={**extras, **(case.get("chat_template_kwargs") or {})},
    )
    return Outcome(case["id"], "render", got == case["prompt"], got, case["prompt"])


def _parsed(case: Any, template: ChatTemplate) -> Outcome:
    form = _derived(template)
    expected = _meant(case["expected"])
    whole: object = None
    # the engine gives out no token that ends a turn
    for pieces in _splits(case["input"].removesuffix(form.end.strip())):
        got = _read(pieces, case, form)
        whole = got if whole is None else whole
        if got != expected:
            return Outcome(case["id"], "parse", False, got, expected)
    return Outcome(case["id"], "parse", True, whole, expected)


def _read(texts: Iterable[str], case: Any, form: ChatFormat) -> object:
    tools = [_spec(tool) for tool in case.get("tools") or ()]
    reader = reader_of(form, tools, keep_thoughts=case["reasoning_format"] == "none")
    found = {"text": "", "reasoning": ""}
    calls: list[ToolCall] = []
    partial: ToolCall | None = None
    opened = _opened(case["generation_prompt"], form)
    pieces = [piece for text in (opened, *texts) for piece in reader.feed(text)]
    pieces += [] if case["is_partial"] else reader.finish()
    for piece in pieces:
        match piece:
            case Piece(kind, text):
                found[kind] += text
            case CallPiece(call, done=True):
                calls.append(call)
                partial = None
            case CallPiece(call, reason=reason):
                partial = call if reason is None else None
    return _meant(
        {
            "content": found["text"],
            "reasoning_content": found["reasoning"],
            "tool_calls": [asdict(call) for call in [*calls, *([partial] if partial else [])]],
        }
    )


def _opened(generation_prompt: str, form: ChatFormat) -> str:
    """What the end of a prompt has already said; it begins somewhere in the header of the turn."""
    for start in range(len(form.header) + 1):
        if generation_prompt.startswith(form.header[start:]):
            opened = generation_prompt[len(form.header) - start :]
            break
    opened = opened.lstrip()
    # a thought that was closed before it began is none
    closed = form.reasoning and opened.strip() == form.reasoning.end
    return "" if closed else opened


def _spec(tool: Any) -> ToolSpec:
    function = tool["function"]
    return ToolSpec(
        function["name"], function.get("description", ""), function.get("parameters") or {}
    )


@cache
def _derived(template: ChatTemplate) -> ChatFormat:
    return ChatFormat.derive(template)


def _splits(text: str) -> Iterator[list[str]]:
    """The text whole, and in two pieces: cut everywhere, or at random places if it is long."""
    yield [text]
    places: Iterable[int] = range(1, len(text))
    if len(text) > _SHORT:
        places = Random(text).choices(places, k=_N_SPLITS)
    for i in places:
        yield [text[:i], text[i:]]
    yield list(text)


def _meant(message: Any) -> dict[str, object]:
    """What counts of a message: white space at the ends is nobody's, arguments are JSON."""
    calls = [
        {"name": call["name"], "arguments": _json(call["arguments"])}
        for call in message.get("tool_calls") or []
    ]
    return {
        "content": (message.get("content") or "").strip(),
        "reasoning_content": (message.get("reasoning_content") or "").strip(),
        "tool_calls": calls,
    }


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {}
