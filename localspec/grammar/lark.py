"""Writing grammars in llguidance's dialect of Lark.

A body is what stands on the right of a rule. `TEXT` is any text, however long, without a token that
stands for itself.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from localspec.grammar.tokens import GrammarTokens

Spacing = Literal["exact", "free"]
"""White space in JSON: as json.dumps writes it, or a break with its indent or a blank wherever it may be."""

ANY = r"(.|\n)*"
"""Regular expression of any text."""

OPTIONS: Mapping[Spacing, Mapping[str, object]] = {
    "exact": {
        "whitespace_flexible": False,
        "item_separator": ", ",
        "key_separator": ": ",
        "coerce_one_of": True,
    },
    "free": {
        "whitespace_flexible": True,
        # bounded, or a small model writes white space for ever
        "whitespace_pattern": r"(\n[ \t]{0,40}|[ ])?",
        "coerce_one_of": True,
    },
}
"""llguidance's options of JSON."""
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$&/~#-]")


class Rules:
    """A grammar on its way.

    Args:
        tokens: the model's, for markers that are one token.
    """

    def __init__(self, tokens: GrammarTokens) -> None:
        self._tokens = tokens
        self._rules: dict[str, str] = {}
        self.add("TEXT", f"/{ANY}/")
        self.add("WS", r"/(\n[ \t]{0,40}|[ ])?/")

    @property
    def source(self) -> str:
        """The grammar; its start is the rule `start`."""
        return "\n".join(f"{name}: {body}" for name, body in self._rules.items())

    def add(self, name: str, body: str, *, lazy: bool = False) -> str:
        """A rule; returns its name. A lazy one is over as soon as it can be."""
        self._rules[f"{name}[lazy]" if lazy else name] = body
        return name

    def literal(self, text: str) -> str:
        """The body of exactly this text, up to a token in it that ends a generation."""
        items: list[str] = []
        for part in self._parts(text):
            if isinstance(part, int):
                if part in self._tokens.ends:
                    break
                items.append(f"<[{part}]>")
            else:
                items.append(quoted(part))
        return " ".join(items) or '""'

    def upto(self, name: str, text: str) -> str:
        """The body of any text up to the marker `text`, with it.

        Args:
            name: of the rule that this may take.
            text: the marker, not empty.
        """
        first, *rest = self._parts(text)
        if isinstance(first, int):
            return f"TEXT {self.literal(text)}"
        self.add(name, f"TEXT {quoted(first)}", lazy=True)
        return f"{name} {self.literal(text[len(first) :])}" if rest else name

    def without(self, name: str, *patterns: str) -> str:
        """A terminal for any text that matches none of these regular expressions as a whole."""
        return self.add(name, " & ".join([f"/{ANY}/", *(f"~/{one}/" for one in patterns)]))

    def others(self, *texts: str) -> str:
        """The body of any token that stands for itself, but for those that begin these texts."""
        begin = {self._parts(text)[0] for text in texts if text}
        ids = [i for i in self._tokens.inner if i not in begin]
        return f"<[{','.join(map(_range, _runs(ids)))}]>" if ids else ""

    def is_token(self, text: str) -> bool:
        """True if the text begins with a token that stands for itself."""
        return isinstance(self._parts(text)[0], int)

    def _parts(self, text: str) -> list[str | int]:
        """The text cut at tokens that stand for themselves."""
        found = sorted((m for m in self._tokens.markers if m in text), key=len, reverse=True)
        if not found:
            return [text]
        cut = re.split("(" + "|".join(map(re.escape, found)) + ")", text)
        return [self._tokens.markers.get(part, part) for part in cut if part]


def quoted(text: str) -> str:
    """A string in a grammar."""
    return json.dumps(text, ensure_ascii=False)


def exactly(text: str) -> str:
    """The regular expression of exactly this text."""
    return (
        _SPECIAL.sub(r"\\\g<0>", text)
        .replace("\n", r"\n")
        .replace("\t", r"\t")
        .replace("\r", r"\r")
    )


def json_body(schema: Mapping[str, object], spacing: Spacing) -> str:
    """The body of a JSON value."""
    return "%json " + json.dumps({**schema, "x-guidance": OPTIONS[spacing]}, ensure_ascii=False)


def any_of(bodies: Iterable[str]) -> str:
    """The body of one of several."""
    return "(" + " | ".join(bodies) + ")"


def _runs(ids: list[int]) -> list[tuple[int, int]]:
    """First and last of each run of following numbers."""
    runs: list[tuple[int, int]] = []
    for i in ids:
        if runs and runs[-1][1] == i - 1:
            runs[-1] = runs[-1][0], i
        else:
            runs.append((i, i))
    return runs


def _range(run: tuple[int, int]) -> str:
    return str(run[0]) if run[0] == run[1] else f"{run[0]}-{run[1]}"
