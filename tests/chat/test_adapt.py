"""Messages a template cannot take as they are reach it in another form; none is lost."""

import json
import re
from dataclasses import replace

import pytest

from localspec.chat.abilities import find_abilities
from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message, ToolCall

PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + PLAIN
)
IGNORES_SYSTEM = (
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
STRICT = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}"
)
FIRST_SYSTEM_ONLY = (
    "{% if messages[0].role == 'system' %}<{{ messages[0].content }}>{% endif %}"
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
LAST_SYSTEM_WINS = (
    "{% set n = namespace(s='') %}{% for m in messages if m.role == 'system' %}"
    "{% set n.s = m.content %}{% endfor %}<{{ n.s }}>"
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
PARTS = (
    "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{% if p.type == 'text' %}"
    "{{ p.text }}{% elif p.type == 'thinking' %}({{ p.thinking }}){% endif %}{% endfor %}{% endfor %}"
)
TEXT_OR_THOUGHT_PARTS = (
    "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ '(' + p.thinking + ')' if p.type == 'thinking' else p.text }}{% endfor %}"
    "{% endif %}{% endfor %}"
)

SYSTEM, ASK, SAY, ASK_2 = (
    Message("system", "S"),
    Message("user", "U"),
    Message("assistant", "A"),
    Message("user", "V"),
)
LATER = Message("system", "T")


@pytest.mark.parametrize(
    ("source", "messages", "expected"),
    [
        (PLAIN, [SYSTEM, ASK, SAY, LATER, ASK_2], "[system]S[user]U[assistant]A[system]T[user]V"),
        (PLAIN, [ASK, ASK_2, SAY, SAY], "[user]U[user]V[assistant]A[assistant]A"),
        (NO_SYSTEM, [SYSTEM, ASK, SAY, ASK_2], "[user]S\nU[assistant]A[user]V"),
        (NO_SYSTEM, [SYSTEM, LATER, ASK], "[user]S\nT\nU"),
        (IGNORES_SYSTEM, [SYSTEM, ASK], "[user]S\nU"),
        (STRICT, [SYSTEM, ASK, SAY, ASK_2], "[user]S\nU[assistant]A[user]V"),
        (STRICT, [ASK, ASK_2, SAY, SAY, ASK], "[user]U\n\nV[assistant]A\n\nA[user]U"),
        (STRICT, [ASK, SAY, LATER, ASK_2], "[user]U[assistant]A[user]T\nV"),
        (STRICT, [ASK, SYSTEM], "[user]U\n\nS"),
        (STRICT, [SYSTEM, SAY, ASK], "[user]S[assistant]A[user]U"),
        (STRICT, [SAY, ASK], "[user][assistant]A[user]U"),
        (FIRST_SYSTEM_ONLY, [SYSTEM, ASK, SAY, LATER, ASK_2], "<S>[user]U[assistant]A[user]T\nV"),
        (FIRST_SYSTEM_ONLY, [SYSTEM, LATER, ASK], "<S\n\nT>[user]U"),
        (LAST_SYSTEM_WINS, [SYSTEM, ASK, SAY, LATER, ASK_2], "<S>[user]U[assistant]A[user]T\nV"),
        (PARTS, [SYSTEM, ASK, SAY, ASK_2], "[system]S[user]U[assistant]A[user]V"),
        (PARTS, [ASK, Message("assistant", "A", "R"), ASK_2], "[user]U[assistant](R)A[user]V"),
        (TEXT_OR_THOUGHT_PARTS, [ASK, Message("assistant", "A", "R")], "[user]U[assistant](R)A"),
        # A template that would print the list of parts as a list gets text, without the thought.
        (PLAIN, [ASK, Message("assistant", "A", "R")], "[user]U[assistant]A"),
    ],
)
def test_nothing_said_is_lost(source: str, messages: list[Message], expected: str) -> None:
    assert ChatTemplate(source, "", "").render(messages) == expected


def test_what_a_template_cannot_print_at_all_is_its_own_error() -> None:
    template = ChatTemplate("{{ raise_exception('not today') }}", "", "")
    with pytest.raises(LocalspecError, match="not today"):
        template.render([SYSTEM, ASK])


def test_the_turns_given_are_not_changed() -> None:
    turns: list[dict[str, object]] = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
    ]
    ChatTemplate(NO_SYSTEM, "", "").render_turns(turns)
    assert turns == [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]


def test_turns_with_calls_are_not_merged() -> None:
    """Calls of two turns belong to two turns; merging them would lose the first ones."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}]}
    turns: list[dict[str, object]] = [{"role": "user", "content": "U"}, call, call]
    with pytest.raises(LocalspecError, match="alternate"):
        ChatTemplate(STRICT, "", "").render_turns(turns)


def test_a_template_that_takes_too_long_is_tried_once() -> None:
    """Each further try would take as long."""
    tried: list[object] = []

    def slow(turns: object, _prompt: bool, _extras: object) -> str:
        tried.append(turns)
        raise UnsupportedFileError("too long")

    with pytest.raises(UnsupportedFileError):
        find_abilities(slow)
    assert len(tried) == 1


CALLS_AS = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls %}<{{ c.id }} "
    + "{{ c.function.name }} FORM>{% endfor %}{% endfor %}"
    + "{% for t in tools %}{{ t.function.name }}{% endfor %}"
)
OBJECTS = CALLS_AS.replace("FORM", "{{ c.function.arguments | tojson }}")
TEXTS = CALLS_AS.replace("FORM", "{{ c.function.arguments }}")
SHORT_IDS = (
    "{% for m in messages %}{% for c in m.tool_calls %}{% if c.id | length != 9 %}"
    "{{ raise_exception('nine letters') }}{% endif %}{% endfor %}{% endfor %}" + OBJECTS
)
ONE_CALL = (
    "{% for m in messages %}{% if m.tool_calls and m.tool_calls | length > 1 %}"
    "{{ raise_exception('one call') }}{% endif %}{% endfor %}" + OBJECTS
)
TALK = [
    ASK,
    Message(
        "assistant", "", tool_calls=(ToolCall("f", '{"a": "é"}', "x-1"), ToolCall("g", "{}", "x-2"))
    ),
    Message("tool", "R", tool_name="f", tool_call_id="x-1"),
    Message("tool", "S", tool_name="g", tool_call_id="x-2"),
]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (OBJECTS, '[user]U[assistant]<x-1 f {"a": "é"}><x-2 g {}>[tool]R[tool]S'),
        (TEXTS, '[user]U[assistant]<x-1 f {"a": "é"}><x-2 g {}>[tool]R[tool]S'),
        (ONE_CALL, '[user]U[assistant]<x-1 f {"a": "é"}>[tool]R[assistant]<x-2 g {}>[tool]S'),
    ],
)
def test_calls_come_in_the_form_that_is_printed(source: str, expected: str) -> None:
    assert ChatTemplate(source, "", "").render(TALK) == expected


def test_ids_that_a_template_refuses_are_replaced_alike() -> None:
    source = (
        SHORT_IDS + "{% for m in messages if m.role == 'tool' %}({{ m.tool_call_id }}){% endfor %}"
    )
    text = ChatTemplate(source, "", "").render(TALK)
    ids = re.findall(r"<(\w{9}) ", text)
    assert len(set(ids)) == 2
    assert text.endswith("".join(f"({i})" for i in ids))
    kept = [replace(TALK[1], tool_calls=(ToolCall("f", "{}", "abcdefgh1"),))]
    assert "<abcdefgh1 f {}>" in ChatTemplate(source, "", "").render([ASK, *kept])


def test_arguments_that_are_no_object_stay_as_they_were_written() -> None:
    for written in ("{broken", "[1]", "3", ""):
        talk = [ASK, Message("assistant", "", tool_calls=(ToolCall("f", written),))]
        shown = json.dumps(written) if written else "{}"
        assert f"f {shown}>" in ChatTemplate(OBJECTS, "", "").render(talk)
