"""A server of MCP in twenty lines, which does what no server made with the SDK would do.

`script(path, ...)` writes one; it answers `initialize` and `tools/list`, and calls by `answers`.
"""

import sys
from pathlib import Path

from localspec.tools.servers import ServerSpec

_SCRIPT = """
import json, os, sys, time

PAGES = {pages!r}
ANSWERS = {answers!r}


def reply(message, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)


{before}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {{}})
    if method == "initialize":
        reply(message, {{
            "protocolVersion": params["protocolVersion"],
            "capabilities": {{"tools": {{}}}},
            "serverInfo": {{"name": "by hand", "version": "1"}},
        }})
    elif method == "tools/list":
        page = int(params.get("cursor", "0"))
        more = {{"nextCursor": str(page + 1)}} if page + 1 < len(PAGES) else {{}}
        reply(message, {{"tools": PAGES[page], **more}})
    elif method == "tools/call" and params["name"] == "die":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    elif method == "tools/call" and params["name"] in ANSWERS:
        reply(message, ANSWERS[params["name"]])
    elif method == "tools/call":
        pass
    elif "id" in message:
        error = {{"code": -32601, "message": "no such method"}}
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "error": error}}), flush=True)
{after}
"""


def tool(name: str, **fields: object) -> dict[str, object]:
    """One entry of a list of tools."""
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **fields}


def by_hand(
    folder: Path,
    *pages: list[object],
    answers: dict[str, object] | None = None,
    before: str = "",
    after: str = "",
) -> ServerSpec:
    """A server that lists these pages and gives these answers.

    It dies of a call of `die`, and never answers one of a tool that has no answer.
    """
    text = _SCRIPT.format(pages=pages or ([],), answers=answers or {}, before=before, after=after)
    return spec_of(folder, text)


def spec_of(folder: Path, script: str) -> ServerSpec:
    """Any script as a server named "odd"."""
    path = folder / "odd_server.py"
    path.write_text(script, encoding="utf-8")
    return ServerSpec("odd", sys.executable, (str(path),))
