"""Another server as an arm: the same prompts over OpenAI's chat API, timed by the server or by the stream.

llama.cpp's server ends an answer with a `timings` object (tools/server/README.md); elsewhere the tokens
are those of `usage`, and the seconds are those between the first and the last piece that came.
"""

import json
import os
import re
from collections.abc import Iterator
from collections.abc import Sequence as ListLike
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import httpx2

from localspec.bench.stream import Faults, count_of, events_of, field_of, read_whole, whole
from localspec.errors import UsageError
from localspec.messages import Message

_KEY = "OPENAI_API_KEY"
_EXAMPLE = "--peer http://127.0.0.1:8080"
_LISTED_S, _CONNECT_S, _SILENT_S = 20.0, 10.0, 300.0
_WARM_UP = [Message("user", "Count from one to ten.")]
_WARM_UP_TOKENS = 8
_PIECES = 3
"""An answer that comes in fewer pieces has no rate: its tokens were written before it was sent."""

_AT_ONCE_S = 0.02
"""Pieces that come within so short a time were written before they were sent, too."""

_SPARE_TOKENS = 16
"""A token is a byte of text or more, but for some that are not shown."""

_LLAMA_CPP = "llamacpp"
"""What llama.cpp's server calls itself in its list of models."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a peer answered.

    Attributes:
        text: the answer, without a thought that the server sends apart from it.
        tokens: how many the server says it wrote, thought included.
        tokens_per_s: rate after the first token; None if there were fewer than two, or no time between.
        ttft_s: to the first token: the server's own time for the prompt, else from sending to the first piece.
        own_timings: the server timed it itself.
        drafted: tokens it drafted; None if it does not say.
        accepted: of these, how many it kept; None if it does not say.
    """

    text: str
    tokens: int
    tokens_per_s: float | None
    ttft_s: float
    own_timings: bool = False
    drafted: int | None = None
    accepted: int | None = None


class Peer:
    """An OpenAI-compatible server, in a `with` block. `check` it first.

    The key in OPENAI_API_KEY, if there is one, goes with every request and into no message.

    Args:
        url: where it listens, with or without "/v1".
        silent_s: seconds without a sign of life after which it is given up.

    Attributes:
        url: the same in full and without a password: "http://127.0.0.1:8080/v1".
        model: what it says it runs; None if it does not.

    Raises:
        UsageError: it is no URL, or the key is none.
    """

    def __init__(self, url: str, *, silent_s: float = _SILENT_S) -> None:
        base = _base(url)
        self.url = str(base.copy_with(username=None, password=None))
        self.model: str | None = None
        self._silent_s = silent_s
        self._is_llama_cpp = False
        self._replies: list[Reply] = []
        self._faults = Faults(self.url, _key())
        key = {"Authorization": f"Bearer {self._faults.key}"} if self._faults.key else {}
        self._client = httpx2.Client(
            headers=key,
            timeout=httpx2.Timeout(silent_s, connect=_CONNECT_S),
            auth=(base.username, base.password) if base.username else None,
            # a proxy cannot reach what listens on this machine only
            trust_env=not _is_here(base.host),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()

    @property
    def facts(self) -> dict[str, Any]:
        """What a report says of it: address, model, who timed it, and what it counted of its drafts."""
        facts: dict[str, Any] = {"url": self.url, "model": _told_name(self.model)}
        if self._replies:
            own = all(reply.own_timings for reply in self._replies)
            facts["timed_by"] = "the server" if own else "the stream as it came"
        counted = [r for r in self._replies if r.drafted is not None and r.accepted is not None]
        if counted:
            facts["drafted"] = sum(r.drafted or 0 for r in counted)
            facts["accepted"] = sum(r.accepted or 0 for r in counted)
        return facts

    def check(self) -> Self:
        """Ask what it runs, and for a few tokens: so it is warm, and what is wrong is known by now.

        Raises:
            LocalspecError: it cannot be reached, refuses, or does not answer as it should.
        """
        with (
            self._told(),
            self._client.stream("GET", f"{self.url}/models", timeout=_LISTED_S) as response,
        ):
            # not every server has a list of models
            if response.status_code not in (404, 405, 501):
                body = read_whole(response, self._faults, _LISTED_S)
                self._faults.raise_for(response.status_code, body)
                self._learn(body)
        self.answer(_WARM_UP, _WARM_UP_TOKENS, 0.0, 0)
        self._replies.clear()
        return self

    def answer(
        self, messages: ListLike[Message], n_tokens: int, temperature: float, seed: int
    ) -> Reply:
        """Have it answer a conversation.

        Args:
            messages: what was said so far; the last is the user's.
            n_tokens: most tokens of the answer.
            temperature: as for ours; what else it samples by is its own affair.
            seed: of the answer.

        Raises:
            LocalspecError: it cannot be reached, refuses, falls silent, stops in the middle, sends what
                cannot be read, or does not say how many tokens it wrote.
        """
        asked: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": n_tokens,
            "temperature": temperature,
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.model is not None:
            asked["model"] = self.model
        if self._is_llama_cpp:
            # our arms read every prompt afresh too
            asked["cache_prompt"] = False
        started = perf_counter()
        with (
            self._told(),
            self._client.stream("POST", f"{self.url}/chat/completions", json=asked) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                body = read_whole(response, self._faults, _LISTED_S)
                self._faults.raise_for(response.status_code, body)
            # event streams are UTF-8 by their specification, whatever a header says
            response.encoding = "utf-8"
            events = events_of(response.iter_lines(), self._faults, self._silent_s)
            reply = _listened(events, started, self._faults)
        self._replies.append(reply)
        return reply

    def _learn(self, listed: bytes) -> None:
        try:
            models = field_of(json.loads(listed), "data", list)
        except (ValueError, RecursionError) as error:
            raise self._faults.unreadable("a list of models that is not JSON") from error
        first = models[0] if models else None
        self.model = whole(field_of(first, "id", str) or "") or None
        self._is_llama_cpp = field_of(first, "owned_by", str) == _LLAMA_CPP

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Failures of the connection as localspec's errors."""
        try:
            yield
        except httpx2.HTTPError as error:
            raise self._faults.broken(error) from error
        except UnicodeError as error:
            # a host's name that cannot be looked up fails below HTTP
            raise UsageError("--peer is given what is no host's name.", _EXAMPLE) from error


def _listened(events: Iterator[dict[str, Any]], started: float, faults: Faults) -> Reply:
    """An answer, put together from its pieces as they come.

    Args:
        events: the pieces; asking for the next one waits for it.
        started: when the request was sent, by `perf_counter`.
        faults: how to say what is wrong.
    """
    text: list[str] = []
    usage: object = None
    timings: object = None
    first = last = None
    n_pieces = n_bytes = 0
    for event in events:
        usage, timings = event.get("usage") or usage, event.get("timings") or timings
        choices = field_of(event, "choices", list)
        delta = field_of(choices[0], "delta", dict) if choices else None
        said = field_of(delta, "content", str)
        thought = field_of(delta, "reasoning_content", str) or field_of(delta, "reasoning", str)
        if said or thought:
            last = perf_counter()
            first = first or last
            n_pieces += 1
            n_bytes += len(whole((said or "") + (thought or "")).encode())
        text.append(said or "")
    ended = perf_counter()
    written = whole("".join(text))
    reply = _own_timings(written, timings)
    if reply is None:
        tokens = count_of(usage, "completion_tokens")
        if tokens is None:
            raise faults.unreadable("no count of its tokens (neither usage nor timings)")
        seconds = last - first if first and last and n_pieces >= _PIECES else 0.0
        rate = (tokens - 1) / seconds if tokens > 1 and seconds > _AT_ONCE_S else None
        reply = Reply(written, tokens, rate, (first or ended) - started)
    if reply.tokens > n_bytes + _SPARE_TOKENS:
        raise faults.unreadable(f"{n_bytes} bytes of text and says these are {reply.tokens} tokens")
    return reply


def _own_timings(text: str, timings: object) -> Reply | None:
    """The reply as llama.cpp's server timed it; None if it did not."""
    tokens, prompt_ms = count_of(timings, "predicted_n"), _number(timings, "prompt_ms")
    if tokens is None or prompt_ms is None:
        return None
    drafted, accepted = count_of(timings, "draft_n"), count_of(timings, "draft_n_accepted")
    possible = drafted is not None and accepted is not None and accepted <= drafted
    decode_ms, rate = _number(timings, "predicted_ms"), _number(timings, "predicted_per_second")
    if decode_ms:
        # Its clock starts with the first token, which its own rate counts all the same; ours does not.
        rate = 1000.0 * (tokens - 1) / decode_ms
    return Reply(
        text,
        tokens,
        rate if tokens > 1 and rate else None,
        prompt_ms / 1000.0,
        own_timings=True,
        drafted=drafted if possible else None,
        accepted=accepted if possible else None,
    )


def _number(values: object, name: str) -> float | None:
    """A figure that can be one: finite, and not below 0."""
    found = field_of(values, name, float)
    return found if found is not None and 0.0 <= found < float("inf") else None


def _base(url: str) -> httpx2.URL:
    """Where the API begins: with "/v1" at the end, and nothing after it.

    Raises:
        UsageError: it is no http URL.
    """
    text = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        base = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise UsageError("--peer is given what is no URL.", _EXAMPLE) from error
    if base.scheme not in ("http", "https") or not base.host or not base.host.strip():
        raise UsageError("--peer needs the http address of a server.", _EXAMPLE)
    path = re.sub(r"/(chat/completions|models)$", "", base.path.rstrip("/")).rstrip("/")
    if not re.search(r"/v\d\w*(/openai)?$", path):
        path += "/v1"
    return base.copy_with(path=path, query=None, fragment=None)


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _key() -> str | None:
    """The key of the environment, if it has one.

    Raises:
        UsageError: it cannot be sent.
    """
    key = os.environ.get(_KEY, "").strip()
    if not key.isascii() or not key.isprintable():
        raise UsageError(
            f"{_KEY} holds characters that no key has.", f"Set it anew: export {_KEY}=…"
        )
    return key or None


def _told_name(model: str | None) -> str | None:
    """A model's name; of a path the file alone, since folders are nobody's business."""
    if model is not None and (model.startswith(("/", "~")) or "\\" in model):
        return re.split(r"[/\\]", model)[-1]
    return model
