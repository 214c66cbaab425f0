"""What an MCP server answers a call with, as text; pictures and sounds in a few words."""

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from localspec.tools.base import ToolFailedError
from localspec.tools.results import as_text


def text_of(result: CallToolResult) -> str:
    """All the text of a result; the structured content where it has none.

    Raises:
        ToolFailedError: the server says that the call failed.
    """
    parts = [_in_words(part) for part in result.content]
    if result.structured_content is not None and not _has_text(result):
        parts.insert(0, as_text(result.structured_content))
    text = "\n".join(parts)
    if result.is_error:
        raise ToolFailedError(text.strip() or "the tool failed and gives no reason")
    return text


def _has_text(result: CallToolResult) -> bool:
    return any(isinstance(part, TextContent) and part.text.strip() for part in result.content)


def _in_words(part: ContentBlock) -> str:
    match part:
        case TextContent():
            return part.text
        case ImageContent() | AudioContent():
            return f"[{part.mime_type}, {_size(part.data)}]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            kind = resource.mime_type or "a file"
            return f"[{kind}, {_size(resource.blob)}: {resource.uri}]"
        case ResourceLink():
            return f"[a link to {part.name}: {part.uri}]"
        case _:
            return f"[{part.type}]"


def _size(base64: str) -> str:
    n_bytes = len(base64.rstrip("=")) * 3 // 4
    return f"{n_bytes / 1000:.0f} kB" if n_bytes >= 1000 else f"{n_bytes} bytes"
