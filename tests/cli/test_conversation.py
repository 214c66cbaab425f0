"""The conversation behind the chat, on a tiny model: its figures, and another answer."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from localspec.cli.conversation import SwitchableConversation
from localspec.cli.options import Request
from localspec.errors import UsageError
from localspec.events import Finished, Notice
from localspec.ui.status import summary_lines
from tests.tiny import TinyModels


def request(model: Path, **more: Any) -> Request:
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(Request))
    values |= {"model": str(model), "drafter": "lookup", "stop": (), "max_tokens": 8, "threads": 1}
    return Request(**{**values, "quiet": True, "no_profile": True, "temperature": 1.0, **more})


@pytest.fixture
def conversation(tiny: TinyModels) -> Iterator[SwitchableConversation]:
    with SwitchableConversation(request(tiny("llama"), seed=5)) as opened:
        yield opened


def test_after_a_reset_no_context_is_used(conversation: SwitchableConversation) -> None:
    def context() -> str:
        return dict(conversation.stats())["context"]

    assert context() == "0 of 2048 tokens"
    list(conversation.send("Hello"))
    assert not context().startswith("0 ")
    conversation.reset()
    assert context() == "0 of 2048 tokens"
    assert "answer" not in dict(conversation.stats())


def test_figures_look_as_in_the_summary(conversation: SwitchableConversation) -> None:
    *_, end = conversation.send("Hello")
    assert isinstance(end, Finished)
    rows, summary = dict(conversation.stats()), summary_lines(end, 1 << 30)[0]
    assert f" {rows['tokens/round']} tokens/round" in summary
    assert f" {rows['tokens/s']} tokens/s" in summary


def test_another_answer_names_its_seed_where_one_was_asked_for(
    conversation: SwitchableConversation, tiny: TinyModels
) -> None:
    with pytest.raises(UsageError):
        list(conversation.regenerate())
    list(conversation.send("Hello"))
    first, *_, end = conversation.regenerate()
    assert isinstance(first, Notice)
    assert isinstance(end, Finished)
    assert end.seed == 6
    assert "seed 6" in first.message
    with SwitchableConversation(request(tiny("llama"))) as other:
        list(other.send("Hello"))
        assert not any(isinstance(event, Notice) for event in other.regenerate())


def test_another_answer_that_is_stopped_at_once_keeps_the_former(
    conversation: SwitchableConversation,
) -> None:
    list(conversation.send("Hello"))
    answer = conversation.regenerate()
    next(answer)
    answer.close()  # type: ignore[attr-defined]
    assert dict(conversation.stats())["messages"] == "2"
