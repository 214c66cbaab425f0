"""A peer over real HTTP: what it is asked, what is measured of it, and every way it can fail."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import repeat

import pytest

from localspec.bench.peer import Peer
from localspec.bench.stream import Faults, events_of
from localspec.errors import LocalspecError, UsageError
from localspec.messages import Message
from tests.bench.peer_server import TIMINGS, FakePeer, serving

TALK = [Message("system", "Be brief."), Message("user", "Count."), Message("assistant", "1")]
KEY = "sk-secret-of-mine"
Meet = Callable[..., Peer]


@pytest.fixture
def peer() -> Iterator[FakePeer]:
    with serving(FakePeer()) as started:
        yield started


@pytest.fixture
def meet() -> Iterator[Meet]:
    """`meet(url)`: a peer that is closed in the end."""
    with ExitStack() as stack:
        yield lambda url, **how: stack.enter_context(Peer(url, **how))


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_server_that_times_itself(meet: Meet, peer: FakePeer) -> None:
    peer.timings, peer.models = TIMINGS, [{"id": "/home/me/big.gguf", "owned_by": "llamacpp"}]
    asked = meet(peer.url).check()
    reply = asked.answer(TALK, 11, 0.5, 7)
    assert (reply.text, reply.tokens) == ("One, two, three", 11)
    # its clock starts with the first of the 11 tokens
    assert reply.tokens_per_s == pytest.approx(20.0)
    assert reply.ttft_s == pytest.approx(0.25)
    path, body, key = peer.asked[-1]
    assert path == "/v1/chat/completions"
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (11, 0.5, 7)
    assert (body["model"], body["cache_prompt"], key) == ("/home/me/big.gguf", False, None)
    # the answer of `check` is not among what is counted
    assert asked.facts == {
        "url": f"{peer.url}/v1",
        "model": "big.gguf",
        "timed_by": "the server",
        "drafted": 12,
        "accepted": 6,
    }


@pytest.mark.parametrize("n", [-5, 1_000_000, 10**400, True, "7", None])
def test_a_count_that_cannot_be_is_no_figure(meet: Meet, peer: FakePeer, n: object) -> None:
    asked = meet(peer.url).check()
    peer.usage = {"completion_tokens": n}
    with pytest.raises(LocalspecError, match="tokens"):
        asked.answer(TALK, 11, 0.0, 0)


@pytest.mark.parametrize("n", [-5, 10**400, float("nan")])
def test_timings_that_cannot_be_are_not_taken(meet: Meet, peer: FakePeer, n: float) -> None:
    for name in ("predicted_n", "prompt_ms"):
        peer.timings = {**TIMINGS, name: n}
        assert not meet(peer.url).answer(TALK, 11, 0.0, 0).own_timings
    peer.timings = {**TIMINGS, "draft_n": 5, "draft_n_accepted": 99}
    reply = meet(peer.url).answer(TALK, 11, 0.0, 0)
    assert (reply.drafted, reply.accepted) == (None, None)


def test_an_answer_that_comes_at_once_has_no_rate(meet: Meet, peer: FakePeer) -> None:
    peer.pieces = ("One, two", ", three")
    assert meet(peer.url).answer(TALK, 11, 0.0, 0).tokens_per_s is None


@pytest.mark.parametrize("charset", ["utf-16", "hex", "idna", "undefined", "nope"])
def test_a_stream_is_utf_8_whatever_it_says(meet: Meet, peer: FakePeer, charset: str) -> None:
    peer.pieces, peer.content_type = (
        ("Eins", " für", " alle"),
        f"text/event-stream; charset={charset}",
    )
    assert meet(peer.url).answer(TALK, 11, 0.0, 0).text == "Eins für alle"


@pytest.mark.parametrize("url", ["http://.../", f"http://{'a' * 300}.example/"])
def test_a_host_that_cannot_be_one(meet: Meet, url: str) -> None:
    with pytest.raises(UsageError) as raised:
        meet(url).check()
    assert raised.value.hint


def test_signs_of_life_are_no_answer() -> None:
    def pings() -> Iterator[str]:
        while True:
            time.sleep(0.01)
            yield ": ping"

    with pytest.raises(LocalspecError, match="silent"):
        list(events_of(pings(), Faults("http://h", None), 0.1))


def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.bench.stream._MOST_EVENTS", 50)
    endless = repeat('data: {"choices":[{"delta":{"content":"x"}}]}')
    with pytest.raises(LocalspecError, match="without an end"):
        list(events_of(endless, Faults("http://h", None), 60.0))


def test_a_server_that_does_not_is_timed_by_its_stream(meet: Meet, peer: FakePeer) -> None:
    peer.pause_s = 0.1
    asked = meet(peer.url).check()
    reply = asked.answer(TALK, 11, 0.0, 0)
    assert reply.tokens == 11
    # 10 tokens after the first, in the two pauses between three pieces
    assert reply.tokens_per_s is not None
    assert 20.0 < reply.tokens_per_s <= 50.5
    assert 0.0 < reply.ttft_s < 0.1
    assert asked.facts["timed_by"] == "the stream as it came"
    assert "drafted" not in asked.facts
    assert "cache_prompt" not in peer.asked[-1][1]


def test_a_pair_cut_in_two_is_put_together(meet: Meet, peer: FakePeer) -> None:
    peer.pieces, peer.models = ("a\ud83d", "\ude00b", "\ud83d"), [{"id": "m\ud83d"}]
    asked = meet(peer.url).check()
    reply = asked.answer(TALK, 11, 0.0, 0)
    assert reply.text == "a\U0001f600b\ufffd"
    asked.answer([Message("user", reply.text)], 11, 0.0, 0)
    assert peer.asked[-1][1]["messages"][0]["content"] == reply.text


def test_no_rate_where_there_is_none(meet: Meet, peer: FakePeer) -> None:
    peer.pieces, peer.usage = ("One",), {"completion_tokens": 1}
    assert meet(peer.url).answer(TALK, 1, 0.0, 0).tokens_per_s is None
    peer.timings = {"predicted_n": 1, "predicted_ms": 0.001, "prompt_ms": 3.0}
    assert meet(peer.url).answer(TALK, 1, 0.0, 0).tokens_per_s is None


def test_a_list_of_models_without_an_end(
    meet: Meet, peer: FakePeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.bench.stream._MOST_BYTES", 100_000)
    peer.endless_models = True
    with pytest.raises(LocalspecError, match="without an end"):
        meet(peer.url).check()


def test_pieces_that_come_at_once_have_no_rate(meet: Meet, peer: FakePeer) -> None:
    """A server that writes first and sends then would else be millions of tokens a second fast."""
    peer.pause_s = 0.0
    assert meet(peer.url).answer(TALK, 11, 0.0, 0).tokens_per_s is None


def test_a_server_without_a_list_of_models(meet: Meet, peer: FakePeer) -> None:
    peer.models = None
    asked = meet(peer.url).check()
    assert asked.facts["model"] is None
    assert "model" not in peer.asked[0][1]


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://h:1/", "http://h:1/v1"),
        ("https://h/v1/", "https://h/v1"),
        ("http://h/api/v1/chat/completions", "http://h/api/v1"),
        ("http://me:word@h:9/v1?key=word#word", "http://h:9/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
    ],
)
def test_addresses(meet: Meet, given: str, means: str) -> None:
    assert meet(given).url == means


@pytest.mark.parametrize("given", ["", "ftp://h", "http://", "http://h:x", "file:///etc/passwd"])
def test_what_is_no_address(meet: Meet, given: str) -> None:
    with pytest.raises(UsageError) as caught:
        meet(given)
    assert "--peer http" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("cut", "stopped in the middle"),
        ("half", "stopped in the middle"),
        ("end", "stopped in the middle"),
        ("garbage", "not JSON"),
        ("list", "no JSON object"),
        ("error", "failed in the middle of an answer: context"),
        ("empty", "an empty stream"),
        ("no stream", "no stream of pieces"),
    ],
)
def test_a_server_that_fails_in_an_answer(
    meet: Meet, peer: FakePeer, fault: str, said: str
) -> None:
    peer.fault, peer.faults_after = fault, 1
    asked = meet(peer.url).check()
    with pytest.raises(LocalspecError, match=said) as caught:
        asked.answer(TALK, 11, 0.0, 0)
    assert peer.url in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_a_server_that_falls_silent(meet: Meet, peer: FakePeer) -> None:
    peer.fault = "silent"
    with pytest.raises(LocalspecError, match="fallen silent"):
        meet(peer.url, silent_s=0.2).check()


def test_no_count_of_tokens_is_no_figure(meet: Meet, peer: FakePeer) -> None:
    peer.usage = None
    with pytest.raises(LocalspecError, match="no count of its tokens"):
        meet(peer.url).check()


def test_no_server(meet: Meet) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(LocalspecError, match="No peer can be reached") as caught:
            meet(url).check()
    assert "llama-server" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("status", "said"), [(404, "HTTP 404: no such thing"), (503, "HTTP 503: no such thing")]
)
def test_a_server_that_refuses(meet: Meet, peer: FakePeer, status: int, said: str) -> None:
    peer.status = status
    with pytest.raises(LocalspecError, match=said) as caught:
        meet(peer.url).check()
    assert caught.value.hint


def test_the_key_is_sent_and_never_told(
    meet: Meet, peer: FakePeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.key = KEY
    with pytest.raises(LocalspecError, match="HTTP 401") as caught:
        meet(peer.url).check()
    assert "A key is wanted: export OPENAI_API_KEY" in str(caught.value.hint)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with pytest.raises(LocalspecError, match="HTTP 401") as caught:
        meet(peer.url).check()
    assert "sk-wrong" not in f"{caught.value.message} {caught.value.hint}"
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert KEY not in str(meet(peer.url).check().facts)
    peer.status, peer.words = 400, f"bad request of {KEY}"
    with pytest.raises(LocalspecError, match="bad request of …"):
        meet(peer.url).check()
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX: y")
    with pytest.raises(UsageError) as refused:
        meet(peer.url)
    assert KEY not in f"{refused.value.message} {refused.value.hint}"
