"""A call from its name to its end, in each shape that models write (`chat/toolcalls/layout.py`)."""

from collections.abc import Callable, Mapping

from localspec.chat.toolcalls.layout import CallLayout, Shape
from localspec.grammar.bounds import text_bounds
from localspec.grammar.lark import ANY, Rules, any_of, json_body, quoted
from localspec.grammar.members import (
    Member,
    in_any_order,
    in_order,
    properties,
    required_keys,
    resolved,
    with_definitions,
)
from localspec.grammar.quoted import quoted_object
from localspec.messages import ToolSpec

Schema = Mapping[str, object]

_ID = "/[A-Za-z0-9_-]{1,64}/"
_COUNT = "/(:[0-9]{1,3})?/"


def call_body(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """The body of a call of one tool, from what follows `before_name` on.

    Args:
        rules: gets the rules that this takes.
        layout: how the model writes calls.
        tool: what is called; its parameters are a schema that can be held to.
        name: what the names of its rules begin with.
    """
    return _BODIES[layout.shape](rules, layout, tool, name)


def closed(schema: Schema) -> Schema:
    """The schema of arguments, an object, without any that it does not name; any where it names none."""
    open_by = ("anyOf", "allOf", "oneOf", "$ref", "additionalProperties", "patternProperties")
    if "properties" not in schema or any(key in schema for key in open_by):
        return {"type": "object", **schema}
    return {"type": "object", **schema, "additionalProperties": False}


def _json(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """`{"name": "f", "arguments": {…}}`, the keys nested as their paths are."""
    *outer, name_key = layout.name_key.split(".")
    arguments_key = layout.arguments_key.rpartition(".")[2]
    before = "".join(f"{quoted(key)}: {{" for key in outer)
    before += f"{quoted(name_key)}: {quoted(tool.name)}, {quoted(arguments_key)}: "
    arguments, end = json_body(closed(tool.parameters), "exact"), "}" * len(outer)
    if not layout.id_key:
        # in one piece: where nothing else marks a call, this is what tells it from text
        parts = [quoted("{" + before), arguments, quoted(end + "}")]
    else:
        key = quoted(quoted(layout.id_key) + ": ")
        written = f'{key} /"[A-Za-z0-9_-]{{1,64}}"/'
        parts = [quoted("{"), f'({written} ", ")?', quoted(before), arguments]
        parts += [quoted(end), f'(", " {written})?', quoted("}")]
    return " ".join([*parts, rules.literal(layout.after_arguments)])


def _named(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """A name, a marker and a JSON object."""
    parts = [quoted(tool.name)]
    if layout.after_id:
        parts = [_ID, rules.literal(layout.after_id), *parts]
    if layout.before_id:
        parts += [rules.literal(layout.before_id), _ID]
    if layout.before_name.endswith("functions."):
        parts.append(_COUNT)
    parts.append(rules.literal(layout.after_name))
    parts.append(json_body(closed(tool.parameters), "exact"))
    return " ".join([*parts, rules.literal(layout.after_arguments)])


def _tagged(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """A name, then each argument between tags."""
    tags = _Tags(rules, layout, tool.parameters, name)
    arguments = tags.members(tool.parameters)
    end = rules.literal(layout.after_arguments)
    return f"{quoted(tool.name)} {rules.literal(layout.after_name)} {arguments} {end}"


class _Tags:
    """Arguments in tags; where the tags have their names, so have the members of objects."""

    def __init__(self, rules: Rules, layout: CallLayout, root: Schema, name: str) -> None:
        self._rules = rules
        self._layout = layout
        self._root = root
        self._name = name
        self._n = 0
        self._refs: dict[str, str] = {}

    def members(self, schema: Schema) -> str:
        """The body of the members of an object."""
        required = required_keys(schema)
        members = [
            Member(self._member(key, one), key in required)
            for key, one in properties(schema).items()
        ]
        return in_any_order(self._rules, self._fresh(), members)

    def _member(self, key: str, schema: Schema) -> str:
        rules, layout = self._rules, self._layout
        named, schema = schema, resolved(schema, self._root)
        closing = layout.after_value.replace("{key}", key)
        text = _takes_text(schema)
        between = layout.between if text else layout.between_other
        space = "" if layout.before_key[:1].isspace() else "WS "
        opening = space + rules.literal(layout.before_key + key + between)
        values = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if text and isinstance(values, list):
            value = any_of(quoted(str(one)) for one in values)
        elif text:
            return f"{opening} {_text_upto(rules, self._fresh(), schema, closing)}"
        else:
            value = self._value(named)
        return f"{opening} {value} {rules.literal(closing)}"

    def _value(self, schema: Schema) -> str:
        ref = schema.get("$ref")
        if not isinstance(ref, str) or "{key}" not in self._layout.after_value:
            return self._plain(resolved(schema, self._root))
        if ref not in self._refs:
            # it may refer to itself
            self._refs[ref] = name = self._fresh()
            self._rules.add(name, self._plain(resolved(schema, self._root)))
        return self._refs[ref]

    def _plain(self, schema: Schema) -> str:
        options = schema.get("anyOf") or schema.get("oneOf")
        if "{key}" in self._layout.after_value:
            if isinstance(options, list):
                return any_of(self._value(one) for one in options if isinstance(one, Mapping))
            if properties(schema):
                return self.members(schema)
            if schema.get("type") == "array" and isinstance(items := schema.get("items"), Mapping):
                return f"({self._member('item', items)})*"
        return json_body(with_definitions(schema, self._root), "exact")

    def _fresh(self) -> str:
        self._n += 1
        return f"{self._name}_t{self._n}"


def _takes_text(schema: Schema) -> bool:
    """True if a value may be text, which is written without quotes then."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind == "string"
    if isinstance(kind, list):
        return "string" in kind
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            return any(_takes_text(one) for one in options if isinstance(one, Mapping))
    values = schema.get("enum") or [schema.get("const", "")]
    return not isinstance(values, list) or all(isinstance(one, str) for one in values)


def _text_upto(rules: Rules, name: str, schema: Schema, closing: str) -> str:
    """The body of a text within its bounds, and of what ends it."""
    bounds = text_bounds(schema)
    if not bounds:
        # a reader takes the marker for the end without the line break before it too
        return rules.upto(name, closing.lstrip())
    value = rules.add(f"{name.upper()}_TEXT", " & ".join([f"/{ANY}/", *bounds]))
    if rules.is_token(closing):
        return f"{value} {rules.literal(closing)}"
    return rules.add(name, f"{value} {quoted(closing)}", lazy=True)


def _python(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """`name(key=value, …)`; values are JSON's, with Python's words for truth."""
    required = required_keys(tool.parameters)
    members: list[Member] = []
    for key, schema in properties(tool.parameters).items():
        found = resolved(schema, tool.parameters)
        value = json_body(with_definitions(found, tool.parameters), "exact")
        if found.get("type") == "boolean":
            value = '("True" | "False")'
        members.append(Member(f"{quoted(key + '=')} {value}", key in required))
    arguments = in_order(rules, name, members, ", ")
    ending = rules.literal(layout.after_arguments) if layout.after_arguments else ""
    return f"{quoted(tool.name + '(')} {arguments} {quoted(')')} {ending}"


def _quoted(rules: Rules, layout: CallLayout, tool: ToolSpec, name: str) -> str:
    """A name, and an object whose strings stand between markers."""
    body = quoted_object(rules, layout.quote, closed(tool.parameters), name)
    return f"{quoted(tool.name)} {body} {rules.literal(layout.after_arguments)}"


_BODIES: dict[Shape, Callable[[Rules, CallLayout, ToolSpec, str], str]] = {
    "json": _json,
    "named-json": _named,
    "tagged": _tagged,
    "quoted": _quoted,
    "python": _python,
}
