"""Values whose keys are bare and whose strings stand between markers (Gemma 4), by their JSON schema."""

import json
from collections.abc import Mapping

from localspec.grammar.bounds import text_bounds
from localspec.grammar.lark import ANY, Rules, any_of, json_body, quoted
from localspec.grammar.members import (
    Member,
    in_order,
    properties,
    required_keys,
    resolved,
    with_definitions,
)

Schema = Mapping[str, object]

_KEY = "/[^ \\t\\n{}\\[\\]:,\\x22<]+/"
_MOST = 4096
"""Items of a list without a limit of its own."""


def quoted_object(rules: Rules, quote: str, schema: Schema, name: str) -> str:
    """The body of an object.

    Args:
        rules: gets the rules that this takes.
        quote: the marker on both sides of a string.
        schema: of the object, with the definitions that it refers to.
        name: what the names of its rules begin with.
    """
    return _Values(rules, quote, schema, name).value(schema)


class _Values:
    """Bodies of values, each reference a rule of its own: it may refer to itself."""

    def __init__(self, rules: Rules, quote: str, root: Schema, name: str) -> None:
        self._rules = rules
        self._quote = quote
        self._root = root
        self._name = name
        self._n = 0
        self._refs: dict[str, str] = {}

    def value(self, schema: Schema) -> str:
        """The body of a value."""
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference(ref)
        values = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if isinstance(values, list):
            return any_of(map(self._constant, values))
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list):
            return any_of(self.value(one) for one in options if isinstance(one, Mapping))
        kind = schema.get("type")
        if isinstance(kind, list):
            return any_of(self.value({**schema, "type": one}) for one in kind)
        match kind:
            case "string":
                return self._text(schema)
            case "array":
                return self._list(schema)
            case "object" if properties(schema) or schema.get("additionalProperties") is False:
                return self._object(schema)
            case "object":
                return self._anything()[1]
            case "number" | "integer" | "boolean" | "null":
                return json_body(with_definitions(schema, self._root), "exact")
            case _:
                return self._anything()[0]

    def _fresh(self) -> str:
        self._n += 1
        return f"{self._name}_q{self._n}"

    def _reference(self, ref: str) -> str:
        if ref not in self._refs:
            self._refs[ref] = name = self._fresh()
            self._rules.add(name, self.value(resolved({"$ref": ref}, self._root)))
        return self._refs[ref]

    def _constant(self, value: object) -> str:
        if isinstance(value, str):
            return self._rules.literal(self._quote + value + self._quote)
        return quoted(json.dumps(value, ensure_ascii=False))

    def _text(self, schema: Schema) -> str:
        rules, name = self._rules, self._fresh()
        opening, bounds = rules.literal(self._quote), text_bounds(schema)
        if not bounds:
            return f"{opening} {rules.upto(name, self._quote)}"
        value = rules.add(f"{name.upper()}_TEXT", " & ".join([f"/{ANY}/", *bounds]))
        if rules.is_token(self._quote):
            return f"{opening} {value} {opening}"
        return f"{opening} {rules.add(name, f'{value} {opening}', lazy=True)}"

    def _list(self, schema: Schema) -> str:
        items = schema.get("items")
        body = self.value(items) if isinstance(items, Mapping) else self._anything()[0]
        item = self._rules.add(self._fresh(), body)
        least, most = schema.get("minItems"), schema.get("maxItems")
        least = least if isinstance(least, int) else 0
        most = most if isinstance(most, int) else _MOST
        if most == 0:
            return quoted("[]")
        further = f'("," {item}){{{max(least - 1, 0)},{most - 1}}}'
        inner = f"{item} {further}" if most > 1 else item
        return f'"[" {inner} "]"' if least else f'"[" ({inner})? "]"'

    def _object(self, schema: Schema) -> str:
        required = required_keys(schema)
        members = [
            Member(f"{quoted(key + ':')} {self.value(one)}", key in required)
            for key, one in properties(schema).items()
        ]
        return f'"{{" {in_order(self._rules, self._fresh(), members, ",")} "}}"'

    def _anything(self) -> tuple[str, str]:
        """Rules of any value and of any object."""
        value, members = f"{self._name}_any", f"{self._name}_object"
        text = f"{self._rules.literal(self._quote)} {self._rules.upto(f'{self._name}_words', self._quote)}"
        plain = json_body({"type": ["number", "boolean", "null"]}, "exact")
        self._rules.add(members, f'"{{" ({_KEY} ":" {value} ("," {_KEY} ":" {value})*)? "}}"')
        array = f'"[" ({value} ("," {value})*)? "]"'
        self._rules.add(value, f"{text} | {plain} | {array} | {members}")
        return value, members
