"""Tools where a template knows none: nothing that was called or answered is lost."""

from localspec.chat.format import ChatFormat
from localspec.chat.generic_tools import described, in_words
from localspec.chat.pieces import CallPiece
from localspec.chat.reply import reader_of
from localspec.chat.toolcalls.derive import DEFAULT_LAYOUT
from localspec.chat.toolcalls.layout import CallLayout
from localspec.messages import Message, ToolCall, ToolSpec

TOOLS = [ToolSpec("add", "Adds «two» numbers.", {"type": "object", "properties": {"a": {}}})]
NAMED = CallLayout(
    "named-json",
    opening="<|calls|>",
    closing="<|/calls|>",
    before_name="<|call|>",
    after_name="<|sep|>",
    after_arguments="<|/call|>",
)


def test_tools_join_the_system_prompt() -> None:
    said = [Message("system", "Be kind."), Message("user", "2+3?")]
    system, user = described(said, TOOLS, DEFAULT_LAYOUT)
    assert system.content.startswith("Be kind.\n\n")
    for word in ("add", "Adds «two» numbers.", '"properties"', "<tool_call>", "</tool_call>"):
        assert word in system.content
    assert user == said[1]


def test_tools_alone_make_a_system_prompt() -> None:
    assert [m.role for m in described([Message("user", "2+3?")], TOOLS, NAMED)] == [
        "system",
        "user",
    ]
    assert "<|call|>name_of_the_function<|sep|>" in described([], TOOLS, NAMED)[0].content


def test_calls_and_answers_become_text_that_is_read_back() -> None:
    calls = (ToolCall("add", '{"a": 2}'), ToolCall("add", '{"a": 3}'))
    for layout in (DEFAULT_LAYOUT, NAMED):
        call, answer = in_words(
            [Message("assistant", "Well.", None, calls), Message("tool", "5", None, (), "add")],
            layout,
        )
        assert call.tool_calls == ()
        assert call.content.startswith("Well.\n")
        assert answer.role == "user" and "5" in answer.content
        reader = reader_of(ChatFormat(calls=layout), TOOLS)
        pieces = reader.feed(call.content) + reader.finish()
        assert [p.call for p in pieces if isinstance(p, CallPiece) and p.done] == list(calls)
