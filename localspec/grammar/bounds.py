"""What a schema asks of a text that is not written as JSON."""

from collections.abc import Mapping

from localspec.grammar.lark import ANY


def text_bounds(schema: Mapping[str, object]) -> list[str]:
    """Regular expressions that a text must match as a whole, for its length and its pattern."""
    bounds: list[str] = []
    least, most = schema.get("minLength", 0), schema.get("maxLength", "")
    if least or most != "":
        bounds.append(rf"/(.|\n){{{least},{most}}}/")
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        # a schema's pattern may be found anywhere
        start = "" if pattern.startswith("^") else ANY
        end = "" if pattern.endswith("$") and not pattern.endswith(r"\$") else ANY
        inner = pattern.removeprefix("^")
        inner = inner if end else inner.removesuffix("$")
        bounds.append("/" + start + "(" + inner.replace("/", r"\/") + ")" + end + "/")
    return bounds
