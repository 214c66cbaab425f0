"""The published templates of 30 families, rendered as two other engines render them.

The data belong to the makers of the models and are no part of the tree. Where they are not beside
the checkout, these tests do not run.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.template import ChatTemplate
from localspec.messages import Message
from tests.chat.cases import outcome, read_cases

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "chat"
# Printing a list of parts as Python writes it is a slip of that template; we hand over the text.
SLIPS = {"google-gemma-4-31B-it/parts_sys"}

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")


def cases(name: str) -> list[Any]:
    path = DATA / name
    return read_cases(path) if path.is_file() else []


RENDERINGS = cases("render_open.jsonl")
TALKS = [
    c for c in RENDERINGS if not any("tool_calls" in m for m in c["messages"]) and not c["tools"]
]


def template_of(case: Any) -> ChatTemplate:
    return ChatTemplate(
        (DATA / "templates" / case["template"]).read_text(encoding="utf-8"),
        case["bos_token"],
        case["eos_token"],
        clock=lambda: datetime.fromtimestamp(case["now"], UTC),
    )


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


@pytest.mark.parametrize("case", TALKS, ids=lambda c: c["id"])
def test_a_conversation_is_rendered_as_its_maker_meant_it(case: Any) -> None:
    messages = [
        Message(
            "system" if m["role"] == "developer" else m["role"],
            text_of(m["content"]),
            m.get("reasoning_content"),
        )
        for m in case["messages"]
    ]
    got = template_of(case).render(
        messages,
        add_generation_prompt=case["add_generation_prompt"],
        extras={"enable_thinking": case["enable_thinking"], **case["chat_template_kwargs"]},
    )
    assert (got == case["prompt"]) != (case["id"] in SLIPS)


@pytest.mark.parametrize("case", RENDERINGS, ids=lambda c: c["id"])
def test_a_conversation_in_openais_shape_is_rendered_too(case: Any) -> None:
    """Tools and calls with it: arguments come as text, and the content of a call may be missing."""
    found = outcome(case, [DATA / "templates"])
    assert found.kind == "render"
    assert found.got == found.expected
    assert found.ok


MARKERS = {
    "ByteDance-Seed-OSS": Markers("<seed:think>", "</seed:think>"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": Markers(
        "<|START_THINKING|>", "<|END_THINKING|>"
    ),
    "MiniMax-M3": Markers("<mm:think>", "</mm:think>"),
    "google-gemma-4-31B-it": Markers("<|channel>thought", "<channel|>"),
    "mistralai-Ministral-3-14B-Reasoning-2512": Markers("[THINK]", "[/THINK]"),
    **dict.fromkeys(
        [
            "GLM-4.7-Flash",
            "HuggingFaceTB-SmolLM3-3B",
            "Kimi-K2-Thinking",
            "Qwen-QwQ-32B",
            "Qwen-Qwen3-0.6B",
            "Qwen3.5-4B",
            "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "Reka-Edge",
            "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
            "deepseek-ai-DeepSeek-V3.1",
            "deepseek-ai-DeepSeek-V4",
            "ibm-granite-granite-3.3-2B-Instruct",
            "inclusionai-ling-3.0-flash",
        ],
        Markers("<think>", "</think>"),
    ),
}


@pytest.mark.parametrize("path", sorted(DATA.glob("templates/*.jinja")), ids=lambda p: p.stem)
def test_the_markers_of_a_thought_are_found(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), "<s>", "</s>")
    assert ChatFormat.derive(template).reasoning == MARKERS.get(path.stem)


# Code fences belong to a wanted schema, which is nothing of the format; the third is an opened tag that another
# case of the same kind, Qwen3.5-4B/1, leaves in the text.
OTHERWISE = {
    "mistralai-Ministral-3-14B-Reasoning-2512/19",
    "meta-llama-Llama-3.1-8B-Instruct/170",
    "inclusionai-ling-3.0-flash/99",
}


@pytest.mark.parametrize("case", cases("parse_open.jsonl"), ids=lambda c: c["id"])
def test_a_reply_is_read_as_its_maker_meant_it(case: Any) -> None:
    """Whole, letter by letter and cut in two at any place."""
    found = outcome(case, [DATA / "templates"])
    assert found.kind == "parse"
    if found.id in OTHERWISE:
        assert not found.ok
    else:
        assert found.got == found.expected
