"""One prompt answered by a peer: the conversation, and what was measured of it."""

import threading
from collections.abc import Generator
from collections.abc import Sequence as ListLike
from dataclasses import dataclass
from typing import Any, Protocol

from localspec.bench.suite import BenchPrompt
from localspec.messages import Message
from localspec.params import SamplingParams

_LOOK_EVERY_S = 0.1


class PeerAnswer(Protocol):
    """What another server answered; see `peer.Reply`."""

    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def tokens_per_s(self) -> float | None: ...
    @property
    def ttft_s(self) -> float: ...


class Answerer(Protocol):
    """Another server that answers the same prompts; see `peer.Peer`."""

    @property
    def facts(self) -> dict[str, Any]: ...

    def answer(
        self, messages: ListLike[Message], n_tokens: int, temperature: float, seed: int
    ) -> PeerAnswer: ...


@dataclass(frozen=True, slots=True)
class PeerReplies:
    """A peer's answers to all turns of a prompt, as one.

    Attributes:
        text: the answers, with an empty line between.
        tokens: of all turns.
        tokens_per_s: over the turns that have one; None if none has.
        ttft_s: of the first turn.
    """

    text: str
    tokens: int
    tokens_per_s: float | None
    ttft_s: float


def ask(
    peer: Answerer, prompt: BenchPrompt, n_tokens: int, sampling: SamplingParams
) -> Generator[PeerReplies | None, None, None]:
    """Have a peer answer all turns of a prompt; yields None while it is waited for, and at last the
    answers.

    Closing the generator leaves the peer alone with what it is writing.

    Raises:
        LocalspecError: see `Peer.answer`.
    """
    messages = [Message("system", prompt.system)] if prompt.system else []
    replies: list[PeerAnswer] = []
    for turn in prompt.turns:
        messages += turn
        waiting = _Waiting(peer, list(messages), n_tokens, sampling)
        while not waiting.over(_LOOK_EVERY_S):
            yield None
        reply = waiting.reply()
        replies.append(reply)
        messages.append(Message("assistant", reply.text))
    yield _together(replies)


class _Waiting:
    """One answer, waited for on a thread of its own: a server that is silent must not keep us from
    noticing Ctrl-C."""

    def __init__(
        self, peer: Answerer, messages: list[Message], n_tokens: int, sampling: SamplingParams
    ) -> None:
        self._peer = peer
        self._asked = messages, n_tokens, sampling.temperature, sampling.seed
        self._reply: PeerAnswer | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="peer", daemon=True)
        self._thread.start()

    def over(self, seconds: float) -> bool:
        """Wait so long at most; True once there is an answer or an error."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def reply(self) -> PeerAnswer:
        """What came; raises what was raised."""
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def _run(self) -> None:
        try:
            self._reply = self._peer.answer(*self._asked)
        except BaseException as error:  # raised again in `reply`
            self._error = error


def _together(replies: list[PeerAnswer]) -> PeerReplies:
    # a rate is of the tokens after the first
    timed = [(r.tokens - 1, (r.tokens - 1) / r.tokens_per_s) for r in replies if r.tokens_per_s]
    seconds = sum(s for _, s in timed)
    return PeerReplies(
        text="\n\n".join(reply.text for reply in replies),
        tokens=sum(reply.tokens for reply in replies),
        tokens_per_s=sum(n for n, _ in timed) / seconds if seconds else None,
        ttft_s=replies[0].ttft_s,
    )
