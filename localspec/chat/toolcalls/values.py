"""What is meant by a value that was written without the marks of its type."""

import ast
import json

_WORDS = {"True": True, "False": False, "None": None}


def wants_text(schema: object) -> bool:
    """True if a JSON schema takes text and nothing else."""
    return isinstance(schema, dict) and schema.get("type") == "string"


def meant(written: str) -> object:
    """The value if it is written in JSON or as Python would, else the text itself."""
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        pass
    word = written.strip()
    if word in _WORDS:
        return _WORDS[word]
    if word[:1] in "[{" and word:
        try:
            value: object = ast.literal_eval(word)
            json.dumps(value)
        except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
            return written
        return value
    return written


def fitting(value: object, schema: object) -> object:
    """A value of an argument; text where other types are wanted may stand for one."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(value, str) or not isinstance(kind, str) or kind == "string":
        return value
    return meant(value)
