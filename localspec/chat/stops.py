"""Stop strings: the answer ends before the first of them, however the text is cut.

Works on text as it streams; the session feeds it before the parser and ends the sequence when a
stop string is complete.
"""

from localspec.chat.parser import held_back


class StopStrings:
    """Looks for stop strings in streamed text.

    The stop string that is complete first counts; of two that end at the same character, the longer
    one. So it makes no difference how many characters arrive at a time.

    Args:
        stops: the strings to stop at; empty ones are ignored.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self._stopped = False

    def feed(self, text: str) -> tuple[str, bool]:
        """Take more text.

        Returns:
            The text that is certainly before any stop string, and whether one was found. After that
            nothing comes out any more.
        """
        if self._stopped:
            return "", True
        text, self._held = self._held + text, ""
        found = [
            (start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0
        ]
        if found:
            self._stopped = True
            return text[: min(found)[1]], True
        certain = len(text) - held_back(text, *self._stops)
        self._held = text[certain:]
        return text[:certain], False

    def finish(self) -> str:
        """The text that was held back, once no more comes."""
        held, self._held = self._held, ""
        return held
