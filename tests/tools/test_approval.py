"""What `--allow` allows, and what of it is likely mistyped."""

import pytest

from localspec.tools.approval import Allowed


@pytest.mark.parametrize(
    ("patterns", "name", "allowed"),
    [
        ((), "weather", False),
        (("weather",), "weather", True),
        (("weather",), "Weather", False),
        (("weather",), "weather2", False),
        (("read_*",), "read_file", True),
        (("read_*",), "write_file", False),
        (("add", "read_?"), "read_x", True),
        ((" weather ",), "weather", True),
        (("all",), "anything", True),
        (("",), "weather", False),
    ],
)
def test_names_and_globs(patterns: tuple[str, ...], name: str, allowed: bool) -> None:
    assert Allowed(patterns).allows(name) is allowed


def test_patterns_that_match_no_tool() -> None:
    allowed = Allowed(["weather", "wether", "read_*", "write_*", "all", "wether"])
    assert allowed.unused(["weather", "read_file"]) == ("wether", "write_*")
    assert Allowed(["all"]).unused([]) == ("all",)
