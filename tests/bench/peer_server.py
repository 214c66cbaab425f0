"""An OpenAI-compatible server for tests: a real HTTP server that streams, and misbehaves as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TIMINGS = {
    "prompt_n": 5,
    "prompt_ms": 250.0,
    "predicted_n": 11,
    "predicted_ms": 500.0,
    "predicted_per_second": 22.0,
    "draft_n": 12,
    "draft_n_accepted": 6,
}


@dataclass
class FakePeer:
    """What it answers, and how it misbehaves.

    Attributes:
        pieces: of every answer.
        pause_s: between two of them.
        timings: sent with the last piece, as llama.cpp's server does.
        usage: sent before the end, if asked for.
        models: what it lists; None for no list.
        status: of answers; errors say `words`.
        key: what it wants.
        fault: "cut", "half", "end", "garbage", "list", "error", "silent", "empty", "no stream", or "".
        faults_after: answers that go well before that; the one to `check` counts.
        endless_models: the list of models goes on for ever.
        content_type: of a stream.
        asked: the bodies that came, with the path and the key.
    """

    pieces: tuple[str, ...] = ("One", ", two", ", three")
    pause_s: float = 0.0
    timings: dict[str, Any] | None = None
    usage: dict[str, Any] | None = field(default_factory=lambda: {"completion_tokens": 11})
    models: list[dict[str, Any]] | None = field(default_factory=lambda: [{"id": "m"}])
    status: int = 200
    words: str = "no such thing"
    key: str | None = None
    fault: str = ""
    faults_after: int = 0
    endless_models: bool = False
    content_type: str = "text/event-stream"
    asked: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(peer: FakePeer) -> Iterator[FakePeer]:
    """Serve it on a port of this machine."""
    server = _Server(peer)
    peer.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        peer.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, peer: FakePeer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.peer = peer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what the tests want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        peer = self.server.peer
        if peer.endless_models:
            self._endless()
        elif self._refused() or self.path != "/v1/models" or peer.models is None:
            self._plain(401 if self._refused() else 404, {"error": {"message": peer.words}})
        else:
            self._plain(200, {"object": "list", "data": peer.models})

    def do_POST(self) -> None:
        peer = self.server.peer
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        peer.asked.append((self.path, body, self.headers.get("Authorization")))
        if self._refused():
            self._plain(401, {"error": {"message": f"wrong: {self.headers.get('Authorization')}"}})
        elif peer.status != 200 or self.path != "/v1/chat/completions":
            self._plain(
                peer.status if peer.status != 200 else 404, {"error": {"message": peer.words}}
            )
        else:
            self._stream(body, peer.fault if len(peer.asked) > peer.faults_after else "")

    def _refused(self) -> bool:
        key = self.server.peer.key
        return key is not None and self.headers.get("Authorization") != f"Bearer {key}"

    def _plain(self, status: int, values: object) -> None:
        data = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.server.peer.over.is_set():
            self._put(b" " * 4096)

    def _stream(self, body: dict[str, Any], fault: str) -> None:
        peer = self.server.peer
        if fault == "no stream":
            self._plain(200, {"choices": [{"message": {"content": "all at once"}}]})
            return
        self.send_response(200)
        self.send_header("Content-Type", peer.content_type)
        if fault == "end":
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if fault == "empty":
            self._put(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
            return
        for number, piece in enumerate(peer.pieces):
            if number == 1 and fault:
                self._spoil(fault)
                return
            piece_of = {"choices": [{"delta": {"content": piece}, "finish_reason": None}]}
            self._event(piece_of, chunked=fault != "end")
            time.sleep(peer.pause_s)
        last: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        self._event({**last, "timings": peer.timings} if peer.timings else last)
        if peer.usage and body.get("stream_options", {}).get("include_usage"):
            self._event({"choices": [], "usage": peer.usage})
        self._put(b": a comment\n\ndata: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _spoil(self, fault: str) -> None:
        """End an answer in its middle as it should not end."""
        if fault == "silent":
            self.server.peer.over.wait(20)
        elif fault == "half":
            self.wfile.write(b'40\r\ndata: {"choi')
        elif fault == "garbage":
            self._put(b'data: {"choices": [{\n\n')
        elif fault == "list":
            self._put(b"data: [1]\n\n")
        elif fault == "error":
            self._event({"error": {"code": 500, "message": "context\x1b[31m is\nfull"}})
        self.close_connection = True

    def _event(self, values: object, *, chunked: bool = True) -> None:
        self._put(f"data: {json.dumps(values)}\n\n".encode(), chunked=chunked)

    def _put(self, data: bytes, *, chunked: bool = True) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        self.wfile.flush()
