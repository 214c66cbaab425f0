"""Answers as JSON: the object of `run --json` and the lines of `run --jsonl`."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from localspec.chat.transcript import openai_calls
from localspec.events import Event, Finished
from localspec.runtime import Runtime
from localspec.store.header import Header

VERSION = 1
"""Of the JSON object; a change that breaks readers raises it."""


def answer_record(finished: Finished, runtime: Runtime) -> dict[str, Any]:
    """The object that `run --json` prints."""
    return {
        "version": VERSION,
        "text": finished.text,
        "reasoning": finished.reasoning,
        "tool_calls": openai_calls(finished.tool_calls),
        "finish_reason": finished.reason,
        "prompt_tokens": finished.prompt_tokens,
        "cached_tokens": finished.cached_tokens,
        "tokens": len(finished.token_ids),
        "token_ids": list(finished.token_ids),
        "seed": finished.seed,
        "numerics": runtime.numerics,
        "timing": asdict(finished.timing),
        "speculation": asdict(finished.speculation),
        "model": _file_record(runtime.header),
        "drafter": _file_record(runtime.drafter_header) if runtime.drafter_header else None,
    }


def event_record(event: Event) -> dict[str, Any]:
    """One line of `run --jsonl`: the event's name in snake case and its fields."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    return {"event": name, **asdict(event)}


def _file_record(header: Header) -> dict[str, Any]:
    return {
        "name": header.name,
        "path": str(Path(header.path).resolve()),
        "architecture": header.architecture,
        "quantization": header.quantization,
        "size_bytes": header.size_bytes,
    }
