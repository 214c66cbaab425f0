"""Where the parts of a call stand in a reply, as data; `derive.py` finds it, the readers go by it."""

from dataclasses import dataclass
from typing import Literal

Shape = Literal["json", "named-json", "tagged", "quoted", "python"]
"""How name and arguments are written:

- json: `{"name": …, "arguments": {…}}`
- named-json: the name, a marker, then the arguments as a JSON object
- tagged: the name, then each argument with its key between markers
- quoted: the name, then an object whose keys are bare and whose strings stand between markers
- python: `name(key=value, …)`
"""


@dataclass(frozen=True, slots=True)
class CallLayout:
    """How a model writes calls. Markers are texts; white space in them may be more or less in a reply.

    Attributes:
        shape: see `Shape`.
        opening: before the first call; empty where each call opens for itself.
        closing: after the last call.
        before_name: from the start of a call to its name, or to its JSON object.
        after_name: from the name to the arguments.
        after_arguments: to the end of a call.
        name_key: of a call's JSON object; an outer key comes first, with a dot.
        arguments_key: likewise.
        id_key: likewise; empty for none.
        before_id: marker between the name of a call and its id; empty for none.
        after_id: marker between the id of a call and its name, where the id comes first; empty for none.
        before_key: before the key of a tagged argument.
        between: from its key to its value, if that is text.
        between_other: the same for all other values.
        after_value: after its value; `{key}` stands for the key.
        quote: what stands on both sides of a string (quoted).
    """

    shape: Shape
    opening: str = ""
    closing: str = ""
    before_name: str = ""
    after_name: str = ""
    after_arguments: str = ""
    name_key: str = "name"
    arguments_key: str = "arguments"
    id_key: str = ""
    before_id: str = ""
    after_id: str = ""
    before_key: str = ""
    between: str = ""
    between_other: str = ""
    after_value: str = ""
    quote: str = ""
