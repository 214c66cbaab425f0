"""What was typed, kept in a file that only its owner may read, from one start to the next.

A history that cannot be read or written is no reason to lose a question: what was typed then lives
as long as the program.
"""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable_text(text: str) -> str:
    """`text` with a replacement character for each byte that was no UTF-8 when it was typed."""
    return _LONE_SURROGATE.sub("\ufffd", text)


class PrivateHistory(FileHistory):
    """prompt_toolkit's history file with mode 0600 (POSIX), in folders made on the way."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Entries, the newest first; none if the file cannot be read."""
        with contextlib.suppress(OSError):
            self._path.chmod(0o600)  # one that an umask or a copy has opened to others
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Append an entry; blank ones are not worth a line."""
        if not string.strip():
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            super().store_string(encodable_text(string))
