"""A Hugging Face Hub for tests: a real HTTP server that the real huggingface_hub client talks to.

It speaks the part of the Hub's API that pulls use: model info, HEAD and GET of `resolve` with the
Hub's headers, a redirect to a file server of another origin (as for large files), ranges, gated
and missing repos. It can be told to be slow, to break off, to fail and to send wrong bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_RESOLVE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")
_INFO = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+?)(?:/revision/[^/]+)?")
_CHUNK = 16 * 1024


@dataclass
class Repo:
    """Files by name; a gated repo answers only with the token `hf_good`."""

    files: dict[str, bytes]
    commit: str = COMMIT
    gated: bool = False


@dataclass(frozen=True)
class Seen:
    """One request that came in."""

    method: str
    path: str
    range: str | None
    token: str | None
    origin: str


@dataclass
class FakeHub:
    """What the server has, how it misbehaves, and what it was asked.

    Attributes:
        bytes_per_s: speed of each answer with file bytes; None for no limit.
        break_after: break the connection off after that many bytes of an answer, `breaks` times.
        status: answer everything with this HTTP status.
        ignore_range: send the whole file although a range was asked for.
        flip: send each file with its last byte changed.
    """

    repos: dict[str, Repo] = field(default_factory=dict)
    bytes_per_s: int | None = None
    break_after: int | None = None
    breaks: int = 0
    status: int | None = None
    ignore_range: bool = False
    flip: bool = False
    seen: list[Seen] = field(default_factory=list)
    endpoint: str = ""
    files_endpoint: str = ""

    def blob(self, sha256: str) -> bytes | None:
        """The file with that hash."""
        for repo in self.repos.values():
            for data in repo.files.values():
                if hashlib.sha256(data).hexdigest() == sha256:
                    return data
        return None

    def ranges(self) -> list[str | None]:
        """The Range header of each GET for file bytes, in order."""
        return [s.range for s in self.seen if s.method == "GET" and s.path.startswith("/cdn/")]


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve `hub` on two ports of this machine: the Hub, and the file server it redirects to."""
    servers = [_Server(hub, "hub"), _Server(hub, "files")]
    hub.endpoint, hub.files_endpoint = (f"http://127.0.0.1:{s.server_port}" for s in servers)
    threads = [
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        for server in servers
    ]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, hub: FakeHub, origin: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self.origin = origin

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is what the tests want, no error to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub = self.server.hub
        token = self.headers.get("Authorization")
        seen = Seen(self.command, self.path, self.headers.get("Range"), token, self.server.origin)
        hub.seen.append(seen)
        path = self.path.partition("?")[0]
        if hub.status is not None:
            self._send(hub.status, {})
        elif self.server.origin == "files":
            self._bytes(hub.blob(path.removeprefix("/cdn/")))
        elif match := _INFO.fullmatch(path):
            self._info(match["repo"])
        elif match := _RESOLVE.fullmatch(path):
            self._resolve(match["repo"], match["revision"], match["file"])
        else:
            self._send(404, {})

    def _repo(self, name: str) -> Repo | None:
        repo = self.server.hub.repos.get(name)
        if repo is None:
            self._send(404, {"X-Error-Code": "RepoNotFound"})
        return repo

    def _info(self, name: str) -> None:
        if (repo := self._repo(name)) is None:
            return
        files = [{"rfilename": file} for file in repo.files]
        body = {"id": name, "sha": repo.commit, "siblings": files}
        self._send(200, {"Content-Type": "application/json"}, json.dumps(body).encode())

    def _resolve(self, name: str, revision: str, file: str) -> None:
        if (repo := self._repo(name)) is None:
            return
        commit = {"X-Repo-Commit": repo.commit}
        if repo.gated and self.headers.get("Authorization") != "Bearer hf_good":
            self._send(403, {"X-Error-Code": "GatedRepo"})
        elif revision not in ("main", repo.commit):
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif file not in repo.files:
            self._send(404, {"X-Error-Code": "EntryNotFound"} | commit)
        else:
            sha256 = hashlib.sha256(repo.files[file]).hexdigest()
            linked = {
                "X-Linked-Etag": f'"{sha256}"',
                "X-Linked-Size": str(len(repo.files[file])),
                "Location": f"{self.server.hub.files_endpoint}/cdn/{sha256}",
            }
            self._send(302, commit | linked)

    def _bytes(self, data: bytes | None) -> None:
        hub = self.server.hub
        if data is None:
            self._send(404, {})
            return
        if hub.flip:
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if wanted and not hub.ignore_range:
            start = int(wanted[1])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if self.command == "GET":
            self._body(data[start:])

    def _body(self, data: bytes) -> None:
        hub = self.server.hub
        for at in range(0, len(data), _CHUNK):
            if hub.breaks and hub.break_after is not None and at >= hub.break_after:
                hub.breaks -= 1
                self.close_connection = True
                return
            chunk = data[at : at + _CHUNK]
            self.wfile.write(chunk)
            if hub.bytes_per_s is not None:
                time.sleep(len(chunk) / hub.bytes_per_s)

    def _send(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
