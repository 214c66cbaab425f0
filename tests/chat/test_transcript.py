"""Conversations on disk: nothing lost on the way, and a clear word on what cannot be read."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat import transcript
from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.messages import Message, ToolCall

TALK = [
    Message("system", "Be brief."),
    Message("user", "What is 2 + 2? 😀\n"),
    Message("assistant", "4", "Two and two."),
    Message("assistant", "", tool_calls=(ToolCall("add", '{"a": 2}', "c1"), ToolCall("now", "{}"))),
    Message("tool", "4", tool_name="add", tool_call_id="c1"),
]


def test_what_is_saved_is_in_the_shape_of_openais_messages(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    transcript.save(path, TALK)
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 2 + 2? 😀\n"},
            {"role": "assistant", "content": "4", "reasoning_content": "Two and two."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a": 2}'},
                    },
                    {"id": "", "type": "function", "function": {"name": "now", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "content": "4", "name": "add", "tool_call_id": "c1"},
        ]
    }
    assert transcript.load(path) == TALK


@given(
    st.lists(
        st.builds(
            Message,
            st.sampled_from(["system", "user", "assistant"]),
            st.text(st.characters(), max_size=20),
            st.none() | st.text(st.characters(), min_size=1, max_size=9),
        ),
        max_size=4,
    )
)
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, messages: list[Message]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    transcript.save(path, messages)
    assert transcript.load(path) == messages


def test_half_of_a_surrogate_pair_survives(tmp_path: Path) -> None:
    """Such text comes from arguments that are not UTF-8."""
    path = tmp_path / "talk.json"
    transcript.save(path, [Message("user", "a\udc80ü")])
    assert transcript.load(path) == [Message("user", "a\udc80ü")]


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such mode")
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text("old")
    path.chmod(0o644)
    transcript.save(path, TALK)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failed_save_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talk.json"
    transcript.save(path, TALK)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LocalspecError, match="No space left"):
        transcript.save(path, [])
    assert transcript.load(path) == TALK
    assert list(tmp_path.iterdir()) == [path]


def test_where_nothing_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no folder"):
        transcript.save(tmp_path / "gone" / "talk.json", TALK)
    with pytest.raises(LocalspecError, match="Cannot save"):
        transcript.save(tmp_path, TALK)


@pytest.mark.parametrize(
    ("document", "messages"),
    [
        ([{"role": "user", "content": "U"}], [Message("user", "U")]),
        ({"messages": [], "model": "x"}, []),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                }
            ],
            [Message("user", "a\nb")],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": None,
                    "reasoning": "r",
                    "tool_calls": [],
                    "refusal": None,
                }
            ],
            [Message("assistant", "", "r")],
        ),
        ([{"role": "developer", "content": "D"}], [Message("system", "D")]),
    ],
)
def test_what_other_tools_write_is_read(
    tmp_path: Path, document: object, messages: list[Message]
) -> None:
    path = tmp_path / "talk.json"
    path.write_text("\ufeff" + json.dumps(document), encoding="utf-8")
    assert transcript.load(path) == messages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"messages": [\n  {"role": }\n]}', "line 2, column 12"),
        ("", "line 1, column 1"),
        ("3", 'no list "messages"'),
        ('{"turns": []}', 'no list "messages"'),
        ('["hi"]', "message 1 is not an object"),
        ('[{"role": "user", "content": "a"}, {"role": "bot"}]', 'message 2 has no "role"'),
        ('[{"content": "a"}]', 'message 1 has no "role"'),
        ('[{"role": ["user"]}]', 'message 1 has no "role"'),
        ('[{"role": "user", "content": 3}]', "neither text nor a list"),
        ('[{"role": "user", "content": [{"type": "image_url"}]}]', "part of type 'image_url'"),
        ('[{"role": "user", "content": ["a"]}]', "only text"),
        ('[{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}]', 'no "function"'),
        ('[{"role": "assistant", "tool_calls": [{"function": {}}]}]', "has no name"),
        (
            '[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}]',
            "neither text nor an object",
        ),
        ('[{"role": "assistant", "tool_calls": {"a": 1}}]', "are no list"),
        ('[{"role": "tool", "content": "", "tool_call_id": 3}]', '"tool_call_id" of message 1'),
        ('[{"role": "assistant", "reasoning_content": 3}]', "reasoning of message 1"),
        ("[" * 200_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "number that is far too long"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnsupportedFileError) as caught:
        transcript.load(path)
    assert words in caught.value.message
    assert caught.value.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no file"):
        transcript.load(tmp_path / "gone.json")
    with pytest.raises(LocalspecError, match="it is no file"):
        transcript.load(tmp_path)
    path = tmp_path / "talk.json"
    path.write_bytes(b"[\xff]")
    with pytest.raises(UnsupportedFileError, match="byte 1 is not UTF-8"):
        transcript.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(UnsupportedFileError, match="it is no file"):
            transcript.load(path)


def test_a_file_without_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "talk.json"
    transcript.save(path, TALK)
    monkeypatch.setattr(transcript, "_MOST_BYTES", path.stat().st_size)
    assert transcript.load(path) == TALK
    monkeypatch.setattr(transcript, "_MOST_BYTES", path.stat().st_size - 1)
    with pytest.raises(UnsupportedFileError, match="it has more than"):
        transcript.load(path)
