"""Bytes of tokens to text: a token may hold a part of a character, the rest comes with the next."""

import codecs


class Utf8Stream:
    """Decodes UTF-8 that arrives in pieces; what is no UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, data: bytes) -> str:
        """The characters that are complete now."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is left of a character that never became complete, as U+FFFD."""
        return self._decoder.decode(b"", final=True)
