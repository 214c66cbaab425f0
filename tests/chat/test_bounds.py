"""A hostile template can neither hang nor fill memory: each way to do so, and what still works."""

import time
import tracemalloc

import pytest

from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError
from localspec.messages import Message

BIG = "{% set big = 'a' * 900000 %}"


def doubling(expression: str, start: str = "'a'") -> str:
    return (
        f"{{% set n = namespace(x={start}) %}}"
        f"{{% for i in range(99) %}}{{% set n.x = {expression} %}}{{% endfor %}}{{{{ n.x }}}}"
    )


def loops(body: str) -> str:
    return f"{{% for i in range(99999) %}}{{% for j in range(99999) %}}{body}{{% endfor %}}{{% endfor %}}"


ENDLESS = {
    "nested loops": loops(""),
    "loops over a variable": "{% set r = range(99999) %}"
    "{% for i in r %}{% for j in r %}{% for k in r %}{% endfor %}{% endfor %}{% endfor %}",
    "continue": loops("{% continue %}"),
    "loop filter": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "recursive loop": "{% for x in range(2) recursive %}{{ loop(range(99999)) if loop.depth < 9 }}{% endfor %}",
    "tree of macros": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "searches": BIG + loops("{% set c = 'y' in big %}" * 500),
    "tests": BIG + loops("{% set c = 'y' is in big %}" * 500),
    "filter chains": BIG
    + "{% for i in range(999) %}{{ big | map('upper') | select('string') | list | length }}{% endfor %}",
}

HUGE = {
    "range": "{% for i in range(10**9) %}x{% endfor %}",
    "output": loops("x" * 100),
    "output of a variable": BIG + "{% for i in range(9999) %}{{ big }}{% endfor %}",
    "captured output": BIG
    + "{% set y %}{% for i in range(9999) %}{{ big }}{% endfor %}{% endset %}",
    "filtered output": BIG
    + "{% filter upper %}{% for i in range(9999) %}{{ big }}{% endfor %}{% endfilter %}",
    "text times number": "{{ 'a' * 10**10 }}",
    "number times text": "{% set x = 10**10 * 'a' %}",
    "list times number": "{% set x = [1] * 10**10 %}",
    "powers": "{{ 10 ** (10 ** 10) }}",
    "squares": doubling("n.x * n.x", "10"),
    "doubling by ~": doubling("n.x ~ n.x"),
    "doubling by +": doubling("n.x + n.x"),
    "doubling by join": doubling("[n.x, n.x] | join"),
    "doubling by a method": doubling("''.join([n.x, n.x])"),
    "lists that share parts": doubling("[n.x, n.x]"),
    "tuples that share parts": doubling("(n.x, n.x)"),
    "dicts that share parts": doubling("{'a': n.x, 'b': n.x}"),
    "many long texts": BIG
    + "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = n.l + [big ~ i] %}{% endfor %}",
    "many slices": BIG
    + "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = n.l + [big[i:]] %}{% endfor %}",
    "percent width": "{{ '%99999999999s' % 1 }}",
    "percent star": "{{ '%*s' % (999999999, 1) }}",
    "percent many": BIG + "{{ ('%(a)s' * 100000) % {'a': big} }}",
    "format width": "{{ '{:99999999999}'.format(1) }}",
    "format nested width": "{{ '{:{}}'.format(1, 999999999) }}",
    "format many": BIG + "{{ ('{0}' * 100000).format(big) }}",
    "format by attr": "{{ ('{:99999999999}' | attr('format'))(1) }}",
    "format filter": "{{ '%99999999999d' | format(1) }}",
    "center": "{{ 'a' | center(10**10) }}",
    "ljust": "{{ 'a'.ljust(10**10) }}",
    "zfill by attr": "{{ ('a' | attr('zfill'))(10**10) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**10) }}",
    "replace": BIG + "{{ big.replace('a', big) }}",
    "replace of nothing": BIG + "{{ big | replace('', big) }}",
    "join": BIG + "{{ range(9999) | join(big) }}",
    "join method": BIG + "{{ big.join(range(9999) | map('string')) }}",
    "indent": "{{ 'a\nb' | indent(10**10) }}",
    "indent of many lines": "{{ ('\n' * 900000) | indent(900) }}",
    "indented JSON": "{{ [1] | tojson(indent=10**10) }}",
    "batch": "{{ [1] | batch(10**10, 1) | list }}",
    "slice": "{{ [1] | slice(10**10) | list }}",
    "round": "{{ 5 | round(-10**10) }}",
    "lipsum": "{{ lipsum(n=10**6) }}",
    "translate": BIG + "{{ big.translate({97: big}) }}",
    "to_bytes": "{{ (1).to_bytes(10**10, 'big') }}",
    "namespaces full of text": BIG + "{% set n = namespace(l=[]) %}{% for i in range(9999) %}"
    "{% set n.l = n.l + [namespace(x=big ~ i)] %}{% endfor %}",
    "one list under many keys": "{{ dict.fromkeys(range(99999), [1] * 9000) }}",
    "fromkeys": BIG + "{{ dict.fromkeys(range(99999), big) }}",
    "punycode": BIG + "{{ big.encode('punycode') }}",
    "while compiling": "{% autoescape 'a' | center(10**10) %}{% endautoescape %}",
    "constants of an output": "{{ 'x' | center(10**12) }}{{ 'x' | center(1000000000000) }}",
    "constants": "{{ ('a' | center(900)) | replace('a', 'b' * 10**10) | upper }}",
    "time format": "{{ strftime_now('%Y' * 99999) }}",
    "long source": "x" * 10_000_000,
    "deep source": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_template_is_stopped(source: str) -> None:
    template = ChatTemplate(source, "", "", seconds=0.2)
    start = time.monotonic()
    with pytest.raises(LocalspecError, match=r"too long|far too much"):
        template.render([Message("user", "hi")])
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("source", HUGE.values(), ids=HUGE)
def test_a_huge_value_is_refused_before_it_fills_memory(source: str) -> None:
    tracemalloc.start()
    start = time.monotonic()
    try:
        with pytest.raises(LocalspecError) as caught:
            ChatTemplate(source, "", "").render([Message("user", "hi")])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6
    assert time.monotonic() - start < 30
    assert "needs too much memory" not in caught.value.message, "refused, not tried"


def test_a_namespace_that_holds_itself_prints_no_contents() -> None:
    source = "{% set a = namespace(x=1) %}{% set a.x = [a, a] %}{{ a.x }}"
    assert (
        ChatTemplate(source, "", "").render([Message("user", "hi")]) == "[<Namespace>, <Namespace>]"
    )


def test_a_long_conversation_is_not_taken_for_an_attack() -> None:
    """Templates that collect their output copy it once a turn."""
    source = (
        "{% set n = namespace(out='') %}{% for m in messages %}"
        "{% set n.out = n.out ~ m.role ~ ': ' ~ m.content ~ '\n' %}{% endfor %}{{ n.out }}"
    )
    messages = [Message("user" if i % 2 == 0 else "assistant", "word " * 400) for i in range(601)]
    text = ChatTemplate(source, "", "").render(messages)
    assert text == "".join(f"{m.role}: {m.content}\n" for m in messages)


def test_a_refusal_leaves_the_template_usable() -> None:
    template = ChatTemplate("{{ 'a' * messages[0].content | int }}", "", "")
    with pytest.raises(LocalspecError):
        template.render([Message("user", "10000000000")])
    assert template.render([Message("user", "3")]) == "aaa"


def test_a_number_without_bounds_is_a_fault_of_the_template() -> None:
    with pytest.raises(LocalspecError, match="name 'inf' is not defined"):
        ChatTemplate("{% set x = 1e999 %}{{ x }}", "", "").render([Message("user", "hi")])
