"""Results of calls as text that a model can read: no longer than its context bears, and valid Unicode."""

import json

from pydantic_core import to_json

_HEAD = 0.75


def bounded(text: str, limit: int = 16_000) -> str:
    """The text, with its middle left out where it is too long.

    The end is kept too, since errors and sums stand there. Halves of surrogate pairs, which have
    no UTF-8, become U+FFFD.

    Args:
        text: a result.
        limit: characters of what is returned, its note included.
    """
    text = _valid(text)
    if len(text) <= limit:
        return text
    # a digit more or less in the note is allowed for by the longest note there can be
    room = max(0, limit - len(_note(len(text))))
    n_head = int(room * _HEAD)
    n_tail = room - n_head
    return text[:n_head] + _note(len(text) - room) + text[len(text) - n_tail :]


def as_text(value: object) -> str:
    """What a function returned: text as it is, all else as JSON, and what has no JSON as `str()` has it."""
    if isinstance(value, str):
        # of a text enum its value
        return str.__str__(value)
    try:
        text = to_json(value, fallback=str).decode("utf-8")
    except ValueError:
        # a circle, or bytes or text without UTF-8
        return str(value)
    # a date or a path alone is text, and quotes around it would only be copied
    return str(json.loads(text)) if text.startswith('"') else text


def _note(n_left_out: int) -> str:
    return f"\n[… {n_left_out:,} characters left out …]\n"


def _valid(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # by way of UTF-16, so that two halves that belong together become one character
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
