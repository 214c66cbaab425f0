"""Replies with calls: read alike however they are cut, and what is no call is the text that it is."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.pieces import CallPiece, Piece
from localspec.chat.reply import Reader, reader_of
from localspec.chat.toolcalls.layout import CallLayout
from localspec.messages import ToolCall, ToolSpec

THINK = Markers("<think>", "</think>")
TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"city": TEXT, "n": {"type": "integer"}}}
TOOLS = [ToolSpec("look", "Looks.", SCHEMA), ToolSpec("get_time", "The time.", SCHEMA)]

LAYOUTS = {
    "json": CallLayout("json", before_name="<tool_call>\n", after_arguments="\n</tool_call>"),
    "list": CallLayout("json", opening="[TOOL_CALLS][", closing="]", id_key="id"),
    "bare": CallLayout("json", arguments_key="parameters"),
    "named": CallLayout(
        "named-json",
        opening="<|calls|>",
        closing="<|/calls|>",
        before_name="<|call|>functions.",
        after_name="<|args|>",
        after_arguments="<|/call|>",
    ),
    "tagged": CallLayout(
        "tagged",
        before_name="<tool_call>\n<function=",
        after_name=">",
        after_arguments="\n</function>\n</tool_call>",
        before_key="\n<parameter=",
        between=">\n",
        between_other=">\n",
        after_value="\n</parameter>",
    ),
    "quoted": CallLayout(
        "quoted", before_name="<|tool_call>call:", after_arguments="<tool_call|>", quote='<|"|>'
    ),
    "python": CallLayout("python", opening="<|tool_call_start|>[", closing="]<|tool_call_end|>"),
}
CALLS = {
    "json": '<tool_call>\n{"name": "look", "arguments": {"city": "Oslo", "n": 3}}\n</tool_call>',
    "list": '[TOOL_CALLS][{"name": "look", "arguments": {"city": "Oslo", "n": 3}, "id": "abc"}]',
    "bare": '{"name": "look", "parameters": {"city": "Oslo", "n": 3}}',
    "named": '<|calls|><|call|>functions.look:0<|args|>{"city": "Oslo", "n": 3}<|/call|><|/calls|>',
    "tagged": "<tool_call>\n<function=look>\n<parameter=city>\nOslo\n</parameter>\n<parameter=n>\n3\n"
    "</parameter>\n</function>\n</tool_call>",
    "quoted": '<|tool_call>call:look{city:<|"|>Oslo<|"|>,n:3}<tool_call|>',
    "python": '<|tool_call_start|>[look(city="Oslo", n=3)]<|tool_call_end|>',
}


def form(shape: str) -> ChatFormat:
    return ChatFormat(THINK, LAYOUTS[shape])


def read(reader: Reader, texts: Iterable[str]) -> list[Piece | CallPiece]:
    pieces = [piece for text in texts for piece in reader.feed(text)]
    return pieces + reader.finish()


def joined(pieces: list[Piece | CallPiece]) -> list[tuple[str, object]]:
    """Neighbouring pieces of one kind together, and the calls that are whole."""
    made: list[tuple[str, object]] = []
    for piece in pieces:
        if isinstance(piece, CallPiece):
            if piece.done:
                made.append(("call", piece.call))
        elif made and made[-1][0] == piece.kind:
            made[-1] = (piece.kind, f"{made[-1][1]}{piece.text}")
        else:
            made.append((piece.kind, piece.text))
    return made


def calls_of(pieces: list[Piece | CallPiece]) -> list[tuple[str, object]]:
    whole = [p.call for p in pieces if isinstance(p, CallPiece) and p.done]
    return [(call.name, json.loads(call.arguments)) for call in whole]


@pytest.mark.parametrize("shape", LAYOUTS)
def test_a_call_is_read(shape: str) -> None:
    for before in ("", "<think>Where?</think>\n"):
        pieces = read(reader_of(form(shape), TOOLS), [before + CALLS[shape]])
        assert calls_of(pieces) == [("look", {"city": "Oslo", "n": 3})]
        assert [p.text for p in pieces if isinstance(p, Piece) and p.kind == "text"] == []
    ids = [p.call.id for p in pieces if isinstance(p, CallPiece) and p.done]
    assert ids == [{"list": "abc", "named": "functions.look:0"}.get(shape, "")]


@pytest.mark.parametrize("shape", [shape for shape in LAYOUTS if shape != "bare"])
def test_calls_stand_between_texts(shape: str) -> None:
    text = f"First.\n{CALLS[shape]}\n{CALLS[shape]}\nThen, that [1]."
    got = joined(read(reader_of(form(shape), TOOLS), [text]))
    assert [kind for kind, _ in got] == ["text", "call", "call", "text"]
    assert got[0][1] == "First.\n"
    assert str(got[3][1]).strip() == "Then, that [1]."


@pytest.mark.parametrize("shape", LAYOUTS)
def test_a_call_that_breaks_off_is_text_and_is_never_done(shape: str) -> None:
    whole = CALLS[shape]
    for n in range(1, len(whole)):
        pieces = read(reader_of(form(shape), TOOLS), [whole[:n]])
        done = calls_of(pieces)
        said = "".join(p.text for p in pieces if isinstance(p, Piece))
        # its arguments may be whole before its last marker is
        assert done in ([], [("look", {"city": "Oslo", "n": 3})])
        assert said == ("" if done else whole[:n])


@pytest.mark.parametrize("shape", LAYOUTS)
def test_arguments_stream_and_never_change(shape: str) -> None:
    reader = reader_of(form(shape), TOOLS)
    shown = ""
    for letter in CALLS[shape]:
        for piece in reader.feed(letter):
            assert isinstance(piece, CallPiece)
            assert piece.call.name == "look"
            if not piece.done:
                assert piece.call.arguments.startswith(shown)
                shown = piece.call.arguments
    if shape in ("json", "list", "bare", "named"):
        assert len(shown) > 20


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<tool_call>\n{"name": "look", "arguments": {]}\n</tool_call>', "JSON"),
        ("<tool_call>\nlook()\n</tool_call>", "object"),
        ('<tool_call>\n{"arguments": {}}\n</tool_call>', "names no function"),
        ("The tag <tool_call> opens a call.", "object"),
    ],
)
def test_what_is_no_call_is_shown(text: str, reason: str) -> None:
    pieces = read(reader_of(form("json"), TOOLS), list(text))
    assert "".join(p.text for p in pieces if isinstance(p, Piece)) == text
    assert not [p for p in pieces if isinstance(p, CallPiece) and p.done]


def test_without_tools_no_text_is_a_call() -> None:
    got = joined(read(reader_of(form("json")), [CALLS["json"]]))
    assert got == [("text", CALLS["json"])]


def test_a_bare_object_is_a_call_if_it_names_a_tool() -> None:
    text = '{"name": "unknown", "parameters": {}}'
    assert joined(read(reader_of(form("bare"), TOOLS), list(text))) == [("text", text)]
    text = f"Here: {CALLS['bare']}"
    assert joined(read(reader_of(form("bare"), TOOLS), list(text))) == [("text", text)]


def test_a_thought_about_calls_is_a_thought() -> None:
    text = (
        '<think>I write <tool_call>\n{"name": "x", "arguments": {}}</tool_call> then.</think>Yes.'
    )
    got = joined(read(reader_of(form("json"), TOOLS), list(text)))
    assert [kind for kind, _ in got] == ["reasoning", "text"]
    assert '"x"' in str(got[0][1])


def test_a_call_ends_a_thought_that_was_left_open() -> None:
    got = joined(read(reader_of(form("json"), TOOLS), ["<think>Hm.\n" + CALLS["json"]]))
    assert [kind for kind, _ in got] == ["reasoning", "call"]


def test_flags_of_drafted_text_stay() -> None:
    reader = reader_of(form("json"), TOOLS)
    pieces = (
        reader.feed("ab", drafted=True) + reader.feed("cd<") + reader.feed("e") + reader.finish()
    )
    assert [(p.text, p.drafted) for p in pieces if isinstance(p, Piece)] == [
        ("ab", True),
        ("cd", False),
        ("<", False),
        ("e", False),
    ] or "".join(p.text for p in pieces if isinstance(p, Piece) and not p.drafted) == "cd<e"


FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            *(
                mark
                for layout in LAYOUTS.values()
                for mark in (layout.before_name, layout.closing)
                if mark
            ),
            *CALLS.values(),
            "<think>",
            "</think>",
            "look",
            "{",
            "}",
            "[",
            "]",
            '"',
            "<",
            ">",
            "|",
            ":",
            ",",
            " ",
            "\n",
            '{"name": "look", ',
            '"arguments": {',
            "(",
            ")",
            "=",
            "<|",
            "</",
            "functions.",
            '<|"|>',
            "<|channel|>",
            "<|message|>",
            "<|start|>",
            "analysis",
            " to=functions.look",
            "<|end|>",
        ]
    ),
    st.text(max_size=4),
)
REPLIES = st.lists(FRAGMENTS, max_size=12).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([*LAYOUTS, "channels"]), REPLIES, st.randoms(use_true_random=False))
def test_however_a_reply_is_cut_it_says_the_same(shape: str, text: str, random: object) -> None:
    """And nothing is raised."""
    chosen = ChatFormat(channels=True) if shape == "channels" else form(shape)
    whole = joined(read(reader_of(chosen, TOOLS), [text]))
    assert joined(read(reader_of(chosen, TOOLS), list(text))) == whole
    i = random.randint(0, len(text))  # type: ignore[attr-defined]
    assert joined(read(reader_of(chosen, TOOLS), [text[:i], text[i:]])) == whole


LETTERS = st.lists(
    st.one_of(
        st.sampled_from(["<tool_call>", "{", "}", '"name"', "<", "\n", "x"]), st.text(max_size=3)
    ),
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(LETTERS)
def test_no_character_is_lost(text: str) -> None:
    """Where no call is made and no thought is marked, the text is what was fed."""
    reader = reader_of(ChatFormat(None, LAYOUTS["json"]), TOOLS)
    pieces = read(reader, list(text))
    if not any(isinstance(p, CallPiece) and p.done for p in pieces):
        assert "".join(p.text for p in pieces if isinstance(p, Piece)) == text


def test_channels() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.look "
        '<|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
    )
    got = joined(read(reader_of(ChatFormat(channels=True), TOOLS), list(text)))
    assert got == [("reasoning", "Hm."), ("call", ToolCall("look", '{"city": "Oslo"}'))]
    got = joined(
        read(reader_of(ChatFormat(channels=True)), ["<|channel|>final<|message|>Yes.<|return|>"])
    )
    assert got == [("text", "Yes.")]
    assert joined(read(reader_of(ChatFormat(channels=True)), ["Plain text."])) == [
        ("text", "Plain text.")
    ]
