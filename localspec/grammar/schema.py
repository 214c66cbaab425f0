"""`--schema`: a JSON schema from a file, from the line itself, or of a type that pydantic knows."""

import json
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from llguidance import LLMatcher
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError

from localspec.errors import NotFoundError, UsageError
from localspec.events import Notice
from localspec.grammar.held import Held, held_to, is_file, text_of
from localspec.grammar.lark import OPTIONS

_HINT = "For example: --schema invoice.json, or --schema package.module.Model"
_SINGLE = """additionalItems additionalProperties contains contentSchema else if items not propertyNames
    then unevaluatedItems unevaluatedProperties"""
_SEVERAL = "allOf anyOf items oneOf prefixItems"
_NAMED = "$defs definitions dependentSchemas patternProperties properties"
_SIMPLE = """$anchor $comment $dynamicAnchor $id $ref $schema const contentEncoding contentMediaType default
    dependentRequired deprecated description discriminator enum examples example exclusiveMaximum
    exclusiveMinimum format id maxContains maxItems maxLength maxProperties maximum minContains minItems
    minLength minProperties minimum multipleOf nullable pattern readOnly required title type uniqueItems
    writeOnly"""
_ALL = frozenset(f"{_SINGLE} {_SEVERAL} {_NAMED} {_SIMPLE}".split())


def schema_grammar(value: str) -> Held:
    """The grammar of `--schema VALUE`.

    Raises:
        NotFoundError: there is no such file or type.
        UsageError: it is no schema, or asks for something that cannot be held to; which is named.
    """
    schema = _loaded(value)
    called = "The schema" if _is_inline(value) else f"The schema {value}"
    try:
        whole = schema if isinstance(schema, dict) else {"allOf": [schema]}
        grammar = LLMatcher.grammar_from_json_schema(
            json.dumps({**whole, "x-guidance": OPTIONS["free"]})
        )
        unknown = sorted(set(_unknown(schema)))
    except (RecursionError, ValueError):
        raise UsageError(f"{called} is nested too deep.", _HINT) from None
    words = ", ".join(unknown)
    notices = (Notice(f"{called}: no keyword is called {words}."),) if unknown else ()
    return held_to(grammar, called, _HINT, notices)


def _is_inline(value: str) -> bool:
    return value.lstrip()[:1] in ("{", "[")


def _loaded(value: str) -> object:
    """The schema itself, an object or a truth value."""
    if _is_inline(value):
        return _parsed(value, "The schema")
    if is_file(value):
        return _parsed(text_of(value, "--schema"), value)
    return _of_type(value)


def _parsed(text: str, what: str) -> object:
    try:
        schema = json.loads(text)
    except RecursionError:
        raise UsageError(f"{what} is nested too deep.", _HINT) from None
    except ValueError as error:
        raise UsageError(f"{what} is no JSON: {error}.", _HINT) from None
    if not isinstance(schema, dict | bool):
        raise UsageError(f"{what} is no schema: a schema is a JSON object.", _HINT)
    return schema


def _of_type(value: str) -> Mapping[str, object]:
    """The schema of a type in a module; `module:Name` and `module.Name` both name one."""
    module_name, _, name = value.rpartition(":" if ":" in value else ".")
    if not module_name or not name:
        raise NotFoundError(f"There is no file {value}, and it names no type in a module.", _HINT)
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise NotFoundError(f"{value} cannot be imported: {error}.", _HINT) from None
    except AttributeError:
        raise NotFoundError(f"{module_name} has no {name}.", _HINT) from None
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"{module_name} fails when it is imported: {reason}", _HINT) from None
    finally:
        sys.path.pop(0)
    try:
        if isinstance(found, type) and issubclass(found, BaseModel):
            return found.model_json_schema()
        return TypeAdapter(found).json_schema()
    except (PydanticUserError, TypeError, ValueError, RecursionError):
        raise UsageError(f"{value} is no type that pydantic can describe.", _HINT) from None


def _unknown(schema: object) -> Iterator[str]:
    """Keywords that no schema has, wherever they are."""
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key not in _ALL and not str(key).startswith("x-"):
            yield str(key)
        if key in _NAMED.split() and isinstance(value, Mapping):
            for one in value.values():
                yield from _unknown(one)
        elif key in _SEVERAL.split() and isinstance(value, list):
            for one in value:
                yield from _unknown(one)
        elif key in _SINGLE.split():
            yield from _unknown(value)
