"""What a peer sends, read with care, and what can be wrong with it, said in a sentence."""

import json
from collections.abc import Iterator
from time import perf_counter
from typing import Any, TypeVar

import httpx2

from localspec.errors import LocalspecError

_LONGEST_WORDS = 200
_REFUSED = (401, 403)
_LARGEST = 2**31
"""No figure of an answer comes near it."""

_MOST_EVENTS = 100_000
"""Pieces of an answer; a piece is a token or more, and no answer of a benchmark is so long."""

_MOST_BYTES = 8 * 2**20
"""Of a list of models, or of what a server says of a failure."""

T = TypeVar("T")


def field_of(values: object, name: str, kind: type[T]) -> T | None:
    """A field of a JSON object; None if there is none, or one of another kind. A whole number will do
    for a float, and true or false for no number at all."""
    found = values.get(name) if isinstance(values, dict) else None
    if kind is float and isinstance(found, int) and not isinstance(found, bool):
        # a whole number in JSON may be longer than any float
        found = float(found) if abs(found) < _LARGEST else None
    return (
        found if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)) else None
    )


def count_of(values: object, name: str) -> int | None:
    """A field that counts something; None if it is none, or cannot be a count."""
    found = field_of(values, name, int)
    return found if found is not None and 0 <= found < _LARGEST else None


def whole(text: str) -> str:
    """Text whose surrogate pairs are put together; some servers cut them in two, and JSON lets them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Faults:
    """The errors of one peer.

    Args:
        url: its address, as it is to be shown.
        key: what must not get into any of them.
    """

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url
        self.key = key

    def raise_for(self, status: int, body: bytes) -> None:
        """Do nothing if it went well.

        Args:
            status: HTTP's.
            body: of the response.

        Raises:
            LocalspecError: it went wrong.
        """
        if status == httpx2.codes.OK:
            return
        if status in _REFUSED:
            wanted = "Another key" if self.key else "A key"
            # what is said of a key often quotes it
            raise LocalspecError(
                f"The peer {self.url} refuses access (HTTP {status}).",
                f"{wanted} is wanted: export OPENAI_API_KEY=…",
            )
        try:
            said = self._words(json.loads(body))
        except (ValueError, RecursionError):
            said = ""
        if status == httpx2.codes.NOT_FOUND:
            raise LocalspecError(
                f"The peer {self.url} has no chat to answer with (HTTP 404{said}).",
                "Give the address of its OpenAI API, as in: --peer http://127.0.0.1:8080/v1",
            )
        raise LocalspecError(
            f"The peer {self.url} answers HTTP {status}{said}.", "See what its own log says"
        )

    def broken(self, error: httpx2.HTTPError) -> LocalspecError:
        """The error for a connection that failed."""
        if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.ProxyError):
            return LocalspecError(
                f"No peer can be reached at {self.url}.",
                "Start one, as in: llama-server -m model.gguf --port 8080",
            )
        if isinstance(error, httpx2.TimeoutException):
            return self.silent()
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
            return self.cut_off()
        # the words of other errors may quote the headers, and with them the key
        return self.unreadable(f"what is no HTTP ({type(error).__name__})")

    def silent(self) -> LocalspecError:
        """The error for a peer that says nothing any more."""
        return LocalspecError(
            f"The peer {self.url} has fallen silent.",
            "See what its own log says; with fewer tokens it may keep up: -n 32",
        )

    def cut_off(self) -> LocalspecError:
        """The error for an answer that ends before its end."""
        return LocalspecError(
            f"The peer {self.url} stopped in the middle of an answer.",
            "See whether it still runs, and what its own log says",
        )

    def unreadable(self, what: str) -> LocalspecError:
        """The error for an answer that is not as it should be; `what` it sent instead."""
        return LocalspecError(
            f"The peer {self.url} sent {what}.",
            "--peer needs a server with OpenAI's chat API and streaming, as llama-server has",
        )

    def of_event(self, event: dict[str, Any]) -> LocalspecError:
        """The error for an answer that ends with one of the server's own."""
        return LocalspecError(
            f"The peer {self.url} failed in the middle of an answer{self._words(event)}.",
            "See what its own log says",
        )

    def _words(self, values: object) -> str:
        """What a server says of its failure, as ": …", or nothing."""
        error = values.get("error", values) if isinstance(values, dict) else None
        said = error if isinstance(error, str) else field_of(error, "message", str)
        if not said or not said.strip():
            return ""
        said = " ".join(said.split())
        if self.key:
            said = said.replace(self.key, "…")
        return ": " + said[:_LONGEST_WORDS].rstrip(".")


def read_whole(response: httpx2.Response, faults: Faults, most_s: float) -> bytes:
    """All of an answer that should be short.

    Args:
        response: not yet read.
        faults: how to say what is wrong.
        most_s: seconds after which it is given up, even if it goes on coming.

    Raises:
        LocalspecError: there is no end to it.
    """
    parts: list[bytes] = []
    n_bytes, started = 0, perf_counter()
    for part in response.iter_bytes():
        parts.append(part)
        n_bytes += len(part)
        if n_bytes > _MOST_BYTES or perf_counter() - started > most_s:
            raise faults.unreadable("an answer without an end")
    return b"".join(parts)


def events_of(
    lines: Iterator[str], faults: Faults, silent_s: float = float("inf")
) -> Iterator[dict[str, Any]]:
    """The pieces of a streamed answer (text/event-stream) as they come.

    Args:
        lines: of the response.
        faults: how to say what is wrong.
        silent_s: seconds without a piece after which it is given up; signs of life are none.

    Raises:
        LocalspecError: a piece is no JSON object or tells of an error, the answer does not end as one
            does, or not at all.
    """
    finished = False
    n_events = 0
    heard = perf_counter()
    for line in lines:
        name, _, data = line.partition(":")
        data = data.strip()
        if name != "data" or not data:
            if perf_counter() - heard > silent_s:
                raise faults.silent()
            continue
        heard = perf_counter()
        if data == "[DONE]":
            finished = True
            break
        event = _event(data, faults)
        n_events += 1
        if n_events > _MOST_EVENTS:
            raise faults.unreadable("an answer without an end")
        if event.get("error"):
            raise faults.of_event(event)
        choices = field_of(event, "choices", list)
        finished = finished or bool(choices and field_of(choices[0], "finish_reason", str))
        yield event
    if not n_events:
        raise faults.unreadable("no stream of pieces" if not finished else "an empty stream")
    if not finished:
        raise faults.cut_off()


def _event(data: str, faults: Faults) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise faults.unreadable("a piece of an answer that is not JSON") from error
    if not isinstance(event, dict):
        raise faults.unreadable("a piece of an answer that is no JSON object")
    return event
