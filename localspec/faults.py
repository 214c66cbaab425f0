"""What is wrong with the fields of a file, in our own words and not in a validator's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Content = TypeVar("Content", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        place: names of tables and of the field; numbers count from 0.
        words: what is wrong with it, after its name.
        surplus: the field has no business there.
    """

    place: tuple[str | int, ...]
    words: str
    surplus: bool = False

    @property
    def name(self) -> str:
        """The place as people write it, counted from 1: `drafters.1.kind`."""
        return ".".join(str(p + 1 if isinstance(p, int) else p) for p in self.place)

    def __str__(self) -> str:
        return f"{self.name} {self.words}".strip()


def validated(schema: type[Content], data: Mapping[str, Any], thing: str) -> Content | list[Fault]:
    """What a file says, as TOML gives it, in the shape of a strict schema; or all that is wrong with it.

    Args:
        schema: what may be said.
        data: what is said.
        thing: what the file is, with its article: "a recipe".

    Raises:
        ValueError: a number too long to be read.
    """
    try:
        # As JSON: strict there means that a list may still become a tuple, and a date is text.
        return schema.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        return faults_of(error, thing)


def faults_of(error: ValidationError, thing: str) -> list[Fault]:
    """All that a validator found wrong with `thing`."""
    return [Fault(e["loc"], _in_words(e, thing), _is_surplus(e)) for e in error.errors()]


def _is_surplus(error: "ErrorDetails") -> bool:
    return error["type"] == "extra_forbidden"


def _in_words(error: "ErrorDetails", thing: str) -> str:
    """What a field must be."""
    limits = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return f"is not a field of {thing}"
        case "json_invalid":
            return "is no JSON"
        case "string_type":
            return "must be text in quotes"
        case "int_type" | "int_from_float":
            return "must be a whole number"
        case "float_type" | "finite_number":
            return "must be a number"
        case "tuple_type" | "list_type":
            return "must be a list"
        case "model_type" | "model_attributes_type":
            return "must be a table" if error["loc"] else "is no JSON object"
        case "too_short" | "string_too_short":
            least = limits["min_length"]
            return "is empty" if least == 1 else f"must have {least} entries or more"
        case "greater_than":
            return f"must be more than {limits['gt']:g}"
        case "greater_than_equal":
            return f"must be {limits['ge']:g} or more"
        case "less_than_equal":
            return f"must be {limits['le']:g} or less"
        case "literal_error":
            return f"must be {limits['expected']}"
        case "value_error":
            return str(limits["error"])
        case _:
            return "is not right"
