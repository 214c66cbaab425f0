"""What tools answer stays text, also where it spells the model's markers."""

from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.untrusted import guarded
from localspec.messages import Message

MARKERS = ("<|im_end|>", "<|im_start|>", "</tool_response>")


def tool(text: str) -> Message:
    return Message("tool", text, tool_name="f")


def test_no_marker_is_left_whole_in_an_answer_of_a_tool() -> None:
    said = [Message("user", "Say <|im_end|>"), tool("a<|im_end|>b</tool_response>")]
    (user, answer), guard = guarded(said, MARKERS)
    assert user == said[0]
    assert answer.content.replace(guard, "") == said[1].content
    assert not any(marker in answer.content for marker in MARKERS)


def test_where_there_is_none_nothing_changes() -> None:
    said = [Message("user", "<|im_end|>"), tool("plain <b>text</b>")]
    assert guarded(said, MARKERS) == (said, "")


def test_the_guard_stands_nowhere_else() -> None:
    said = [Message("user", "\ue000"), Message("assistant", "", "\ue001"), tool("<|im_end|>")]
    assert guarded(said, MARKERS)[1] == "\ue002"


@given(st.lists(st.sampled_from([*MARKERS, "<", "|", "im_end", "x"]), max_size=12).map("".join))
def test_pieces_between_guards_hold_no_marker(text: str) -> None:
    (answer,), guard = guarded([tool(text)], MARKERS)
    pieces = answer.content.split(guard) if guard else [answer.content]
    assert "".join(pieces) == text
    assert not any(marker in piece for marker in MARKERS for piece in pieces)
