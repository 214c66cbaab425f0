"""`--schema` and `--grammar`: what is taken, and what is said of what cannot be."""

import json
from pathlib import Path

import pytest

from localspec.chat.format import ChatFormat, Markers
from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.grammar.answers import answer_grammar
from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.grammar_file import file_grammar
from localspec.grammar.held import Held
from localspec.grammar.schema import schema_grammar
from localspec.grammar.tokens import GrammarTokens
from tests.grammar.plain_vocab import PlainVocab

TOKENS = GrammarTokens(PlainVocab(["<|think|>", "<|/think|>", "<|channel|>", "<|message|>"]))


def follows(grammar: str, text: str) -> bool:
    ids = [*TOKENS.ids(text), max(TOKENS.ends)]
    return GrammarConstraint(TOKENS, grammar).at([]).n_allowed(ids) == len(ids)


def held(schema: object) -> Held:
    return schema_grammar(json.dumps(schema))


SIMPLE = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def test_white_space_is_free_and_bounded() -> None:
    grammar = held(SIMPLE).grammar
    for text in ('{"a": 1}', '{"a":1}', '{\n  "a": 1\n}'):
        assert follows(grammar, text)
    assert not follows(grammar, '{\n\n"a": 1}')
    assert not follows(grammar, '{"b": 1}')


def test_a_schema_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("\ufeff" + json.dumps(SIMPLE), encoding="utf-8")
    assert schema_grammar(str(path)) == held(SIMPLE)


def test_a_schema_of_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shapes_of_mine.py").write_text(
        "import pydantic, dataclasses\n"
        "class Point(pydantic.BaseModel):\n    x: int\n"
        "@dataclasses.dataclass\nclass Plain:\n    y: str\n"
        "class Odd: pass\n"
        "not_a_type = 5\n"
    )
    (tmp_path / "broken_of_mine.py").write_text("1 / 0\n")
    (tmp_path / "leaving_of_mine.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    assert follows(schema_grammar("shapes_of_mine.Point").grammar, '{"x": 5}')
    assert follows(schema_grammar("shapes_of_mine:Plain").grammar, '{"y": "5"}')
    for name, word in (
        ("shapes_of_mine.Odd", "pydantic"),
        ("shapes_of_mine.not_a_type", "pydantic"),
        ("shapes_of_mine.Nothing", "has no Nothing"),
        ("broken_of_mine.X", "ZeroDivisionError"),
        ("leaving_of_mine.X", "SystemExit: 7"),
        ("nothing_of_mine.X", "cannot be imported"),
        ("Nothing", "no file"),
    ):
        with pytest.raises(LocalspecError, match=word) as caught:
            schema_grammar(name)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strng"}, "strng"),
        ({"properties": []}, "properties must be an object"),
        ({"not": {"type": "null"}}, "held to not"),
        ({"if": {}, "then": {}}, "held to if and then"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, "propertyNames"),
        ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
        ({"type": "string", "pattern": "(a"}, "pattern"),
        ({"type": "string", "format": "phone"}, "phone"),
        ({"enum": []}, "."),
        (False, "."),
        ({"$ref": "#/$defs/Nowhere"}, "Nowhere"),
        ({"$ref": "#"}, "nothing fulfils it"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "nothing fulfils it"),
    ],
)
def test_what_cannot_be_held_to_is_named(tmp_path: Path, schema: object, words: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(schema))
    with pytest.raises(UsageError, match=words) as caught:
        schema_grammar(str(path))
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[1]", "5", "nonsense", '{"a": ' * 100_000])
def test_what_is_no_schema(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        schema_grammar(str(path))
    assert "\n" not in caught.value.message


def test_a_schema_too_deep() -> None:
    deep: object = {"type": "null"}
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    with pytest.raises(UsageError, match="deep"):
        held(deep)


def test_what_is_not_held_to_is_said() -> None:
    (typo,) = held({"type": "string", "maxLenght": 3}).notices
    assert "maxLenght" in typo.message
    both = {"oneOf": [{"type": "number"}, {"type": "integer"}]}
    (weaker,) = held(both).notices
    assert "oneOf is taken as anyOf" in weaker.message
    named = {"type": "object", "properties": {"maxLenght": {"type": "string"}}, "x-mine": 1}
    assert held(named).notices == ()


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"nothing\.json"):
        schema_grammar(str(tmp_path / "nothing.json"))
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        schema_grammar(str(tmp_path / "bytes.json"))
    with pytest.raises(LocalspecError, match="Cannot read"):
        schema_grammar(str(tmp_path))


@pytest.mark.parametrize(
    "text", ['root ::= "yes" | "no"\n', 'start: "yes" | "no"\n', 'root ::= no | "yes"\nno ::= "no"']
)
def test_a_grammar_from_a_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "g.gbnf"
    path.write_text(text)
    grammar = file_grammar(str(path)).grammar
    assert follows(grammar, "yes")
    assert follows(grammar, "no")
    assert not follows(grammar, "maybe")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        'root ::= "a" b',
        'root ::= ("a"',
        "root ::= root",
        'start: start "a"',
        'start: "x" Y\nY: /[/',
        "\0",
        "start: missing",
    ],
)
def test_a_grammar_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "g.gbnf"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        file_grammar(str(path))
    assert "\n" not in caught.value.message


def test_a_thought_may_come_first() -> None:
    answer = held(SIMPLE).grammar
    form = ChatFormat(Markers("<think>", "</think>"))
    grammar = answer_grammar(form, answer, TOKENS)
    assert follows(grammar, '{"a": 1}')
    assert follows(grammar, '<think>{"b"}</think>\n{"a": 1}')
    assert not follows(grammar, 'So: {"a": 1}')
    assert not follows(grammar, "<think>x</think>")
    marked = ChatFormat(Markers("<|think|>", "<|/think|>"))
    grammar = answer_grammar(marked, answer, TOKENS)
    assert follows(grammar, '<|think|>b<|/think|>\n{"a": 1}')
    said = GrammarConstraint(TOKENS, grammar, "<|think|>\n").at([])
    assert said.n_allowed(TOKENS.ids('b<|/think|>{"a": 1}')) == 10


def test_an_answer_in_channels() -> None:
    grammar = answer_grammar(ChatFormat(channels=True), held(SIMPLE).grammar, TOKENS)
    assert follows(grammar, '<|channel|>final<|message|>{"a": 1}')
    assert not follows(grammar, "<|channel|>final<|message|>Hello")


def test_an_answer_without_a_template_is_all_there_is() -> None:
    answer = held(SIMPLE).grammar
    assert answer_grammar(None, answer, TOKENS) == answer
    assert answer_grammar(ChatFormat(), answer, TOKENS) == answer
