"""Messages a template cannot take as they are reach it in another form; none is lost."""

import pytest

from localspec.chat.adapt import find_abilities
from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message

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

    def slow(turns: object, _prompt: bool) -> str:
        tried.append(turns)
        raise UnsupportedFileError("too long")

    with pytest.raises(UnsupportedFileError):
        find_abilities(slow)
    assert len(tried) == 1
