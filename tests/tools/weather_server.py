"""A server made with the SDK: on standard input and output, or by HTTP on the port that is named."""

import sys
import time

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("weather")


class Report(BaseModel):
    city: str
    degrees: float


@server.tool()
def weather(city: str, days: int = 1) -> str:
    """The weather in a city."""
    return f"{city}: sunny for {days} days"


@server.tool()
def report(city: str) -> Report:
    """Figures."""
    return Report(city=city, degrees=21.5)


@server.tool(structured_output=False)
def picture() -> Image:
    """A picture."""
    return Image(data=b"x" * 12_000, format="png")


@server.tool()
def fail(reason: str) -> str:
    """Fails."""
    raise ToolError(reason)


@server.tool()
def slow(seconds: float) -> str:
    """Takes its time."""
    time.sleep(seconds)
    return "at last"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
