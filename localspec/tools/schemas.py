"""A Python function as the model sees it: its arguments as a JSON schema, and a check for what the model wrote.

The types come from the hints, by way of pydantic; the words from the docstring (Google, NumPy or
reST) and from `Annotated[..., Field(description=...)]`, which wins.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from docstring_parser import ParseError, parse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from localspec.messages import ToolSpec
from localspec.tools.base import NAME_RULE, ToolFailedError, is_callable_name

_MOST_FAULTS = 5


class UnusableFunctionError(Exception):
    """A function that cannot be offered to a model.

    Args:
        words: what is wrong, to follow the function's name: "has *args".
        hint: how to write it instead.
    """

    def __init__(self, words: str, hint: str) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called by name.

    Attributes:
        spec: what the model is told.
        model: checks and converts arguments; its fields have the parameters' names as aliases.
    """

    spec: ToolSpec
    model: type[BaseModel]

    def keywords(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """What the function is called with; parameters that are not given keep their defaults.

        Raises:
            ToolFailedError: an argument is wrong, in words for the model.
        """
        try:
            checked = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolFailedError(_in_words(error)) from None
        fields = type(checked).model_fields
        return {fields[f].alias or f: getattr(checked, f) for f in checked.model_fields_set}


def signature_of(name: str, function: Callable[..., object]) -> Signature:
    """Read what a function says of itself.

    Args:
        name: what the model calls it.
        function: with a hint on every parameter.

    Raises:
        UnusableFunctionError: it cannot be called by name with JSON.
    """
    if not is_callable_name(name):
        raise UnusableFunctionError("has a name that no model could call", NAME_RULE)
    description, of_arguments = _documentation(function)
    hints = _hints(function)
    fields: dict[str, Any] = {}
    for i, parameter in enumerate(_parameters(function)):
        hint = _checked_hint(parameter, hints)
        extras: dict[str, Any] = {"alias": parameter.name}
        if parameter.default is not parameter.empty:
            extras["default"] = parameter.default
        if parameter.name in of_arguments and not _has_description(hint):
            extras["description"] = of_arguments[parameter.name]
        # numbered, since a parameter may be named like a method of pydantic's models
        fields[f"field{i}"] = (hint, Field(**extras))
    model = create_model(name, __config__=_CONFIG, **fields)
    schema = model.model_json_schema(schema_generator=_PlainSchema)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return Signature(ToolSpec(name, description, schema), model)


_CONFIG = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class _PlainSchema(GenerateJsonSchema):
    """A schema without titles, which say again what the names say."""

    # a default that has no JSON is still one for the function
    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        # the type first, as models have seen schemas
        return value


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise UnusableFunctionError(
            "does not tell its parameters", "Write it with `def`."
        ) from error
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UnusableFunctionError(
                f"has {parameter}", "Write each parameter with a name and a type."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UnusableFunctionError(
                f"has the parameter {parameter.name} before a /, and arguments come by name",
                "Leave out the /.",
            )
    return parameters


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception as error:
        raise UnusableFunctionError(
            f"has a type that cannot be found: {error}",
            "Import the type in the file, and not only under `if TYPE_CHECKING:`",
        ) from error


def _checked_hint(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> object:
    """The type of a parameter, after making sure that it has a JSON schema."""
    name = parameter.name
    if name not in hints:
        raise UnusableFunctionError(
            f"has no type for its parameter {name}", f"Write one, for example {name}: str"
        )
    if isinstance(parameter.default, FieldInfo):
        raise UnusableFunctionError(
            f"has a Field as the default of its parameter {name}",
            f'Write {name}: Annotated[str, Field(description="…")] = "…"',
        )
    hint = hints[name]
    if parameter.default is None:
        hint = _or_none(hint)
    try:
        TypeAdapter(hint).json_schema(schema_generator=_PlainSchema)
    except (PydanticUserError, NameError, TypeError, ValueError, RecursionError) as error:
        raise UnusableFunctionError(
            f"has a type that JSON has no value for: {name}: {inspect.formatannotation(hint)}",
            "Take str, int, float, bool, list, dict, Literal, an Enum, a dataclass or a pydantic model.",
        ) from error
    return hint


def _or_none(hint: Any) -> object:  # noqa: ANN401 - a type of any kind
    """`x: int = None` means that None may be given, too."""
    if get_origin(hint) is Annotated:
        inner, *rest = get_args(hint)
        return Annotated[(inner | None, *rest)]
    return hint | None


def _has_description(hint: object) -> bool:
    if get_origin(hint) is not Annotated:
        return False
    return any(isinstance(x, FieldInfo) and x.description for x in get_args(hint)[1:])


def _documentation(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """What the docstring says of the function and of its arguments."""
    text = inspect.getdoc(function) or ""
    try:
        parsed = parse(text)
    except ParseError:
        return text, {}
    of_arguments = {
        name.strip(): " ".join(parameter.description.split())
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")
    }
    return (parsed.description or "").strip(), of_arguments


def _in_words(error: ValidationError) -> str:
    """All that is wrong with arguments: "days: input should be a valid integer"."""
    faults = error.errors(include_url=False, include_context=False)
    words = []
    for fault in faults[:_MOST_FAULTS]:
        place = ".".join(str(part) for part in fault["loc"])
        match fault["type"]:
            case "missing":
                what = "is missing"
            case "extra_forbidden":
                what = "is not an argument of this function"
            case _:
                what = fault["msg"][:1].lower() + fault["msg"][1:]
        words.append(f"{place}: {what}")
    if len(faults) > _MOST_FAULTS:
        words.append(f"and {len(faults) - _MOST_FAULTS} more")
    return "wrong arguments: " + "; ".join(words)
