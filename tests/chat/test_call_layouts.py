"""What a template writes for a call is read back as that call, whatever its layout is."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest

from localspec.chat.format import ChatFormat
from localspec.chat.pieces import CallPiece, Piece
from localspec.chat.reply import reader_of
from localspec.chat.template import ChatTemplate
from localspec.messages import Message, ToolCall, ToolSpec

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "chat" / "templates"

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "n": {"type": "integer"},
        "flag": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
TOOLS = [ToolSpec("look", "Looks.", SCHEMA), ToolSpec("get_time", "The time.", SCHEMA)]
ARGUMENTS = {"city": 'São Paulo, the "big" one\nline 2', "n": 3, "flag": True, "tags": ["a", "b"]}
LOOK = ToolCall("look", json.dumps(ARGUMENTS, ensure_ascii=False), "callabcd1")
TIME = ToolCall("get_time", "{}", "callabcd2")

TURNS = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}CALLS{% endif %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    "{% if tools %}{% for t in tools %}<tool {{ t.function.name }}>{% endfor %}{% endif %}"
)
EACH = "{% for c in m.tool_calls %}{% set f = c.function %}ONE{% endfor %}"
JSON = '{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}'
TAGS = "{% for k, v in f.arguments.items() %}TAG{% endfor %}"
VALUE = "{{ v if v is string else v | tojson }}"

OWN = {
    "JSON in tags": ("json", EACH.replace("ONE", f"<call>\n{JSON}\n</call>")),
    "a list": (
        "json",
        "[CALLS][" + EACH.replace("ONE", JSON + "{{ ', ' if not loop.last }}") + "]",
    ),
    "a list with outer keys": (
        "json",
        "<calls>["
        + EACH.replace(
            "ONE", f'{{"id": "{{{{ c.id }}}}", "function": {JSON}}}{{{{ "," if not loop.last }}}}'
        )
        + "]</calls>",
    ),
    "bare JSON": ("json", EACH.replace("ONE", JSON)),
    "a name before JSON": (
        "named-json",
        "<all>"
        + EACH.replace("ONE", "<one>{{ f.name }}<args>{{ f.arguments | tojson }}</one>")
        + "</all>",
    ),
    "an id before the name": (
        "named-json",
        "<all>"
        + EACH.replace(
            "ONE", "<one>{{ c.id }}<is>{{ f.name }}<args>{{ f.arguments | tojson }}</one>"
        )
        + "</all>",
    ),
    "tags": (
        "tagged",
        EACH.replace("ONE", f"<call>\n<f={{{{ f.name }}}}>{TAGS}\n</f>\n</call>\n").replace(
            "TAG", f"\n<p={{{{ k }}}}>\n{VALUE}\n</p>"
        ),
    ),
    "tags that say which values are text": (
        "tagged",
        EACH.replace("ONE", f'<call name="{{{{ f.name }}}}">{TAGS}</call>').replace(
            "TAG", f'<p name="{{{{ k }}}}" text="{{{{ v is string }}}}">{VALUE}</p>'
        ),
    ),
    "keys and values in tags": (
        "tagged",
        EACH.replace("ONE", f"<call>{{{{ f.name }}}}{TAGS}</call>").replace(
            "TAG", f"<k>{{{{ k }}}}</k><v>{VALUE}</v>"
        ),
    ),
    "an object with markers for quotes": (
        "quoted",
        EACH.replace("ONE", "<call>{{ f.name }}{{ '{' }}" + TAGS + "{{ '}' }}</call>").replace(
            "TAG",
            "{{ k }}:{% if v is string %}<q>{{ v }}<q>{% else %}{{ v | tojson }}{% endif %}"
            "{{ ',' if not loop.last }}",
        ),
    ),
    "as Python does": (
        "python",
        "<calls>["
        + EACH.replace("ONE", "{{ f.name }}(" + TAGS + "){{ ', ' if not loop.last }}").replace(
            "TAG", "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}"
        )
        + "]</calls>",
    ),
}


def published() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(PUBLISHED.glob("*.jinja"))]


def read_back(
    template: ChatTemplate, calls: tuple[ToolCall, ...]
) -> list[tuple[str, object]] | None:
    """The calls in a turn that the template has written; None if it writes no calls."""
    talk = [Message("user", "qzask"), Message("assistant", "", tool_calls=calls)]
    text = template.render(talk, tools=TOOLS, add_generation_prompt=False).partition("qzask")[2]
    if calls[0].name not in text:
        return None
    form = ChatFormat.derive(template)
    before, found, turn = text.partition(form.header)
    reader = reader_of(form, TOOLS)
    pieces = reader.feed(turn if found else before) + reader.finish()
    whole = [piece.call for piece in pieces if isinstance(piece, CallPiece) and piece.done]
    return [(call.name, json.loads(call.arguments)) for call in whole]


@pytest.mark.parametrize(
    "calls", [(LOOK,), (TIME,), (LOOK, TIME)], ids=["one", "no arguments", "two"]
)
@pytest.mark.parametrize("name", OWN)
def test_calls_of_a_template_are_read_back(name: str, calls: tuple[ToolCall, ...]) -> None:
    shape, source = OWN[name]
    template = ChatTemplate(TURNS.replace("CALLS", source), "", "")
    assert ChatFormat.derive(template).calls.shape == shape
    assert read_back(template, calls) == [(c.name, json.loads(c.arguments)) for c in calls]


# These print no calls of earlier turns: there is nothing to be read back.
SILENT = {
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct",
    "microsoft-Phi-3.5-mini-instruct",
}


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.jinja")), ids=lambda p: p.stem)
def test_calls_of_published_templates_are_read_back(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), "<s>", "</s>")
    several = (LOOK, TIME) if template.abilities.parallel_calls else (LOOK,)
    for calls in ((LOOK,), (TIME,), several):
        expected = [(call.name, json.loads(call.arguments)) for call in calls]
        assert read_back(template, calls) == (None if path.stem in SILENT else expected)


RECIPIENTS = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}"
    "{% if m.content %}>>>all\n{{ m.content }}{% endif %}{% for c in m.tool_calls %}"
    ">>>{{ c.function.name }}\n{{ c.function.arguments | tojson }}{% endfor %}"
    "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}"
    "{% if tools %}{{ tools[0].function.name }}{% endif %}"
    "{% if add_generation_prompt %}<|assistant|>>>>{% endif %}"
)


def test_parts_of_a_reply_may_be_addressed() -> None:
    """To everybody or to a tool; the first mark stands in the prompt."""
    template = ChatTemplate(RECIPIENTS, "", "")
    form = ChatFormat.derive(template)
    prompt = template.render([Message("user", "hi")], tools=TOOLS)
    for cut in (1, 100):
        reader = reader_of(form, TOOLS)
        pieces = reader.feed(form.opened_by(prompt))
        reply = 'all\nI look.>>>look\n{"city": "Oslo"}>>>get_time\n{}'
        for i in range(0, len(reply), cut):
            pieces += reader.feed(reply[i : i + cut])
        pieces += reader.finish()
        said = "".join(piece.text for piece in pieces if isinstance(piece, Piece))
        calls = [piece.call for piece in pieces if isinstance(piece, CallPiece) and piece.done]
        assert said == "I look."
        assert [(c.name, c.arguments) for c in calls] == [
            ("look", '{"city": "Oslo"}'),
            ("get_time", "{}"),
        ]


def said(form: ChatFormat, texts: Iterable[str]) -> list[tuple[str, object]]:
    """What a reply in these pieces says: neighbouring text of one kind together, and whole calls."""
    reader = reader_of(form, TOOLS)
    found: list[tuple[str, object]] = []
    for piece in [*(p for text in texts for p in reader.feed(text)), *reader.finish()]:
        if isinstance(piece, CallPiece):
            if piece.done:
                found.append(("call", piece.call))
        elif found and found[-1][0] == piece.kind:
            found[-1] = (piece.kind, f"{found[-1][1]}{piece.text}")
        else:
            found.append((piece.kind, piece.text))
    return found


def shuffled_replies(form: ChatFormat, written: str, n: int) -> Iterator[str]:
    """Replies of everything that means something in a format, whole and broken, in any order."""
    random = Random(written)
    layout = form.calls
    around = [
        mark
        for marks in (form.reasoning, form.content)
        if marks
        for mark in (marks.start, marks.end)
    ]
    markers = [value for value in asdict(layout).values() if value not in ("", "{key}")]
    words = [
        "look",
        "city",
        "Oslo",
        '{"city": "Oslo"}',
        "{",
        "}",
        "[",
        "]",
        ",",
        " ",
        "\n",
        '"',
        "<",
        "|",
    ]
    parts = [*around, *markers, *words, form.opening or "x", written, written]
    for _ in range(n):
        chosen = random.choices(parts, k=random.randint(1, 8))
        cut = [p if random.random() < 0.8 else p[: random.randint(0, len(p))] for p in chosen]
        yield "".join(cut)


@pytest.mark.parametrize(
    "source",
    [*(TURNS.replace("CALLS", source) for _, source in OWN.values()), RECIPIENTS, *published()],
    ids=[*OWN, "recipients", *(path.stem for path in sorted(PUBLISHED.glob("*.jinja")))],
)
def test_however_a_reply_is_cut_it_says_the_same(source: str) -> None:
    template = ChatTemplate(source, "<s>", "</s>")
    form = ChatFormat.derive(template)
    talk = [Message("user", "qzask"), Message("assistant", "", tool_calls=(LOOK,))]
    text = template.render(talk, tools=TOOLS, add_generation_prompt=False).partition("qzask")[2]
    written = text.partition(form.header)[2] or text
    for reply in shuffled_replies(form, written, 40):
        whole = said(form, [reply])
        assert said(form, list(reply)) == whole
        middle = len(reply) // 2
        assert said(form, [reply[:middle], reply[middle:]]) == whole


def test_a_template_without_calls_has_the_layout_that_its_markers_tell() -> None:
    turns = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    python = ChatTemplate(turns + "{# <|tool_list_start|> #}", "", "")
    assert ChatFormat.derive(python).calls.shape == "python"
    plain = ChatFormat.derive(ChatTemplate(turns, "", "")).calls
    assert (plain.shape, plain.before_name) == ("json", "<tool_call>\n")
