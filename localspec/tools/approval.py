"""Which tools may be called without asking the user each time."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

_ALL = "all"


class Allowed:
    """Names that were allowed beforehand.

    Args:
        patterns: names, globs such as `read_*`, or `all`.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(dict.fromkeys(pattern.strip() for pattern in patterns))

    def allows(self, name: str) -> bool:
        """True if the tool of this name needs no asking."""
        return any(_matches(pattern, name) for pattern in self.patterns)

    def unused(self, names: Iterable[str]) -> tuple[str, ...]:
        """The patterns that match none of the tools there are: likely mistyped."""
        known = tuple(names)
        return tuple(p for p in self.patterns if not any(_matches(p, name) for name in known))


def _matches(pattern: str, name: str) -> bool:
    # fnmatch itself would fold the case on some systems
    return pattern == _ALL or fnmatchcase(name, pattern)
