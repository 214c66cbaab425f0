"""Text made safe for a terminal: what a model writes is untrusted and must not steer the screen.

Control characters (escape sequences, backspace, bell, C1) and the marks that reorder a line are
shown in a readable form instead of being obeyed or dropped. New lines and tabs stay.
"""

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u2028\u2029"  # line and paragraph separator
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides, isolates
    "\ud800-\udfff]"  # halves of a pair: no terminal can encode them
)


class TerminalText:
    """Makes streamed text safe, cut anywhere with the same result."""

    def __init__(self) -> None:
        self._after_return = False

    def feed(self, text: str) -> str:
        """Safe form of the next characters; both "\\r\\n" and a lone "\\r" become a new line."""
        if not text:
            return ""
        if self._after_return and text.startswith("\n"):
            text = text[1:]
            self._after_return = False
            if not text:
                return ""
        self._after_return = text.endswith("\r")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return _UNSAFE.sub(_visible, text)


def safe_for_terminal(text: str) -> str:
    """Safe form of a whole text."""
    return TerminalText().feed(text)


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if code in (0x2028, 0x2029):
        return "\n"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code < 0x80:
        return "^" + chr(code ^ 0x40)
    return f"<U+{code:04X}>"
