"""Rendering: what the Hub's templates rely on, and what the user is told when one fails."""

from datetime import UTC, datetime

import pytest

from localspec.chat.template import ChatTemplate
from localspec.chat.turns import Turn
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message, ToolCall, ToolSpec

NOON = datetime(2025, 3, 14, 12, 0, tzinfo=UTC)
ASK = [Message("user", "hi")]


def rendered(source: str, messages: list[Message] | None = None, **extras: object) -> str:
    template = ChatTemplate(source, "<s>", "</s>", clock=lambda: NOON)
    return template.render(messages or ASK, extras=extras)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "<s>hi</s>"),
        ("{% if add_generation_prompt %}go{% endif %}", "go"),
        # Block trimming: the Hub's templates are written for it.
        ("  {% for m in messages %}\n{{ m.role }}\n  {% endfor %}\n", "user\n"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{% generation %}{% set x = 1 %}a{% endgeneration %}{{ x is defined }}", "aFalse"),
        ("{{ {'a': '<ü>\"'} | tojson }}", '{"a": "<ü>\\""}'),
        ("{{ {'b': 1, 'a': 2} | tojson(indent=2) }}", '{\n  "b": 1,\n  "a": 2\n}'),
        ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        ("{{ 'ü' | tojson(ensure_ascii=true) }}", '"\\u00fc"'),
        ("{{ strftime_now('%Y-%m-%d') }} {{ date_string }}", "2025-03-14 14 Mar 2025"),
        (
            "{% set n = namespace(x=1) %}{% for i in [1] %}{% set n.x = 2 %}{% endfor %}{{ n.x }}",
            "2",
        ),
        # What is marked as safe must not make Jinja escape what is added to it.
        ("{{ '<a>' | safe + '<b>' ~ '<c>' }}", "<a><b><c>"),
        ("{{ ['a', 'b'] | join('-') }}{{ '-'.join(['c', 'd']) }}", "a-bc-d"),
        ("{{ messages | map(attribute='role') | join(',') }}", "user"),
        ("{{ messages | join(',', attribute='role') }}", "user"),
        (
            "{{ 'a\nb' | indent }}|{{ 'a\n\nb' | indent('> ', true, true) }}",
            "a\n    b|> a\n> \n> b",
        ),
        (
            "{{ '%s of %d' % ('a', 3) }}{{ '%s' | format('x') }}{{ '{0}{b}'.format(1, b=2) }}",
            "a of 3x12",
        ),
        ("{{ 'a-b' | replace('-', '+') }}{{ 'a-b-c'.replace('-', '+', 1) }}", "a+ba+b-c"),
        ("{{ messages[::-1][0].role }}{{ 'abc'[1:] }}{{ [1, 2] + [3] }}", "userbc[1, 2, 3]"),
        (
            "{% macro f(x) %}<{{ x }}{{ caller() }}>{% endmacro %}{% call f(1) %}b{% endcall %}",
            "<1b>",
        ),
        (
            "{% for x in [1, 2, 3] %}{{ loop.length }}{{ loop.last }}{% endfor %}",
            "3False3False3True",
        ),
        ("{% for i in range(5) if i % 2 %}{{ loop.index }}{{ i }}{% else %}-{% endfor %}", "1123"),
    ],
)
def test_templates_can_use_what_the_hubs_templates_use(source: str, expected: str) -> None:
    assert rendered(source) == expected


def test_extras_reach_the_template_and_thinking_is_on_unless_given() -> None:
    assert rendered("{{ enable_thinking }}{{ x is defined }}") == "TrueFalse"
    assert rendered("{{ enable_thinking }}{{ x }}", enable_thinking=False, x=1) == "False1"


def test_the_generation_prompt_can_be_left_out() -> None:
    template = ChatTemplate("{{ add_generation_prompt }}", "", "")
    assert template.render(ASK, add_generation_prompt=False) == "False"


def test_a_thought_is_given_under_both_names_and_null_keys_are_left_out() -> None:
    source = "{% for m in messages %}{{ m.keys() | sort | join(',') }};{% endfor %}"
    messages = [*ASK, Message("assistant", "a", "t"), Message("assistant", "b")]
    assert (
        rendered(source, messages)
        == "content,role;content,reasoning_content,role,thinking;content,role;"
    )
    turns: list[dict[str, object]] = [{"role": "user", "content": "x", "name": None}]
    assert ChatTemplate(source, "", "").render_turns(turns) == "content,role;"


def test_one_can_ask_whether_the_bos_token_is_there_already() -> None:
    template = ChatTemplate("{{ bos_token }}{{ messages[0].content }}", "<s>", "")
    assert template.starts_with_bos(template.render(ASK))
    assert not template.starts_with_bos("hi <s>")
    assert not ChatTemplate("x", "", "").starts_with_bos("x")


def test_a_faulty_template_is_an_unsupported_file() -> None:
    for source in ("{% for %}", "{{ x | nofilter }}", "{% if 1 %}", "{{ " + "(" * 5000):
        with pytest.raises(UnsupportedFileError, match="not valid Jinja") as caught:
            ChatTemplate(source, "", "")
        assert caught.value.hint


def test_the_words_of_a_template_that_refuses_reach_the_user() -> None:
    with pytest.raises(LocalspecError, match="Only text, please!") as caught:
        rendered("{{ raise_exception('Only text, please!') }}")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 1 + 'a' }}", "unsupported operand"),
        ("{{ messages | tojson(indent={}) }}", "JSONEncoder|sequence|can't|must"),
        ("{{ dict(1) }}", "iterable"),
    ],
)
def test_any_fault_while_rendering_is_one_error(source: str, words: str) -> None:
    with pytest.raises(LocalspecError, match=words):
        rendered(source)


def test_a_template_may_change_lists_of_its_own() -> None:
    """Templates made for llama.cpp keep what they found in lists; what they are given is a copy."""
    turns: list[Turn] = [{"role": "user", "content": "hi"}]
    source = (
        "{% set ids = [] %}{% for m in messages %}{% set _ = ids.append(m.role) %}{% endfor %}"
        "{% set _ = ids.insert(0, 'first') %}{{ ids.pop(0) }}{{ ids | join }}{% set _ = messages.pop() %}"
    )
    assert ChatTemplate(source, "", "").render_turns(turns) == "firstuser"
    assert turns == [{"role": "user", "content": "hi"}]


def test_names_that_nothing_was_given_for_are_empty() -> None:
    """llama.cpp lets them be, and some published templates have them."""
    source = (
        "{{ no.such.thing }}<{{ 'a' + x.y + 'b' }}{% for f in fs %}f{% endfor %}>{{ z | tojson }}"
    )
    assert rendered(source) == "<ab>null"


def test_tools_reach_the_template_and_none_are_none() -> None:
    source = "{% if tools is defined %}{{ tools[0].function.name }}{{ tools | length }}{% endif %}"
    template = ChatTemplate(source, "", "")
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
    assert template.render(ASK, tools=[spec]) == "look1"
    assert template.render(ASK) == ""


def test_a_template_cannot_leave_its_sandbox_or_change_the_conversation() -> None:
    for source in (
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.extend(messages) }}",
        "{{ messages[0].update({'role': 'system'}) }}",
        "{{ '{0.__class__.__mro__}'.format(1) }}",
    ):
        with pytest.raises(LocalspecError):
            rendered(source)
    for source in ("{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}"):
        with pytest.raises(UnsupportedFileError, match="another file"):
            rendered(source)


FORGETFUL = (
    "{% for m in messages %}{% if m.role != 'tool' %}<{{ m.role }}>"
    "{% for c in m.tool_calls %}<call {{ c.function.name }}>{% endfor %}"
    "{% if m.tool_calls %}{% for a in messages if a.role == 'tool' %}"
    "<answer>{{ a.content }}</answer>{% endfor %}{% endif %}{{ m.content }}"
    "{% if m.content or not m.tool_calls %}<end>\n{% endif %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt and messages[-1].role != 'tool' %}<assistant>{% endif %}"
)


def test_a_turn_is_opened_where_a_template_forgets_it_after_a_tool() -> None:
    """Gemma 4's leaves the model outside of any turn if it has said something beside its call."""
    template = ChatTemplate(FORGETFUL, "", "")
    call = (ToolCall("look", "{}", "c1"),)
    answer = Message("tool", "18", tool_name="look", tool_call_id="c1")
    silent = template.render([*ASK, Message("assistant", "", tool_calls=call), answer])
    assert silent.endswith("<assistant><call look><answer>18</answer>")
    said = template.render([*ASK, Message("assistant", "I look.", tool_calls=call), answer])
    assert said.endswith("<answer>18</answer>I look.<end>\n<assistant>")
