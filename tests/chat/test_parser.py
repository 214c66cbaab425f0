"""Thought and answer are told apart while they stream, however the text is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.parser import ReplyParser, held_back

THINK = ChatFormat(Markers("<think>", "</think>"))
CONTROL = ChatFormat(Markers("<|channel>thought", "<channel|>"))
FORMATS = (ChatFormat(), THINK, CONTROL, ChatFormat(Markers("[THINK]", "[/THINK]")))

Characters = list[tuple[str, str, bool]]


def characters(
    chunks: list[tuple[str, bool]], format: ChatFormat = THINK, in_reasoning: bool = False
) -> Characters:
    """Kind, character and flag of all that comes out."""
    parser = ReplyParser(format, in_reasoning)
    pieces = [piece for text, drafted in chunks for piece in parser.feed(text, drafted)]
    pieces += parser.finish()
    assert all(piece.text for piece in pieces)
    return [(piece.kind, c, piece.drafted) for piece in pieces for c in piece.text]


def split(text: str, format: ChatFormat = THINK, in_reasoning: bool = False) -> tuple[str, str]:
    """Reasoning and answer."""
    got = characters([(text, False)], format, in_reasoning)
    return tuple(  # type: ignore[return-value]
        "".join(c for kind, c, _ in got if kind == wanted) for wanted in ("reasoning", "text")
    )


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>\nso\n\nthen\n</think>\n\nYes.\n", "so\n\nthen", "Yes.\n"),
        (" \n<think>so</think>Yes.", "so", "Yes."),
        ("<think>so</think>", "so", ""),
        ("<think>never closes ", "never closes", ""),
        ("<think>never </think", "never </think", ""),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("  Yes, plainly.\n", "", "  Yes, plainly.\n"),
        ("<thin air> is text", "", "<thin air> is text"),
        ("<think", "", "<think"),
        ("\n", "", "\n"),
        ("", "", ""),
        ("</think>\n\nYes.", "", "Yes."),
        ("<think>a</think>\n<think>b</think> c", "ab", "c"),
        ("<think><think>twice</think>x", "twice", "x"),
        ("<think>a < b </b> c</think>x", "a < b </b> c", "x"),
        # Prose about the marker is prose.
        ("Use the <think> tag and </think>.", "", "Use the <think> tag and </think>."),
        ("<think>a</think>Use <think>!", "a", "Use <think>!"),
    ],
)
def test_a_reply_is_split(text: str, reasoning: str, answer: str) -> None:
    assert split(text) == (reasoning, answer)
    assert characters([(c, False) for c in text]) == characters([(text, False)])


def test_a_reply_that_begins_inside_the_thought() -> None:
    assert split("so\n</think>\n\nYes.", in_reasoning=True) == ("so", "Yes.")
    assert split("</think>Yes.", in_reasoning=True) == ("", "Yes.")
    assert split("<think>\nso</think>Yes.", in_reasoning=True) == ("so", "Yes.")
    assert split("no end", in_reasoning=True) == ("no end", "")


def test_the_text_of_a_control_token_opens_a_thought_anywhere() -> None:
    text = "Hello.<|channel>thought\nhm<channel|> Bye."
    assert split(text, CONTROL) == ("hm", "Hello. Bye.")


def test_without_markers_everything_is_text_and_nothing_waits() -> None:
    parser = ReplyParser(ChatFormat())
    assert [p.text for p in parser.feed("<think")] == ["<think"]
    assert parser.finish() == []


def test_only_what_may_become_a_marker_is_held_back() -> None:
    """Text that waits for no reason makes a stream look slow."""
    parser = ReplyParser(THINK)
    shown = [
        "".join(p.text for p in parser.feed(part))
        for part in ("<thi", "nk>so ", "it ", "is </", "b>", " </think>\n", "Yes <th", "ink> ")
    ]
    assert shown == ["", "so", " it", " is", " </b>", "", "Yes <th", "ink> "]


def test_each_character_keeps_the_flag_it_came_with() -> None:
    chunks = [("<think>a", True), ("b</thi", False), ("nk>c", True), ("d", False)]
    assert characters(chunks) == [
        ("reasoning", "a", True),
        ("reasoning", "b", False),
        ("text", "c", True),
        ("text", "d", False),
    ]


fragments = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<|channel>thought",
            "<channel|>",
            "[THINK]",
            "[/THINK]",
            "<",
            "</",
            "think",
            ">",
            "|",
            "[",
            " ",
            "\n",
            "a",
            "é",
            "<thi",
            "nk>",
        ]
    ),
    max_size=12,
)


@given(
    fragments=fragments,
    cuts=st.lists(st.integers(0, 60), max_size=12),
    drafted=st.integers(0, 2**60 - 1),
    format=st.sampled_from(FORMATS),
    in_reasoning=st.booleans(),
)
def test_cutting_the_text_anywhere_changes_nothing(
    fragments: list[str], cuts: list[int], drafted: int, format: ChatFormat, in_reasoning: bool
) -> None:
    """Compared character by character: kind, text and flag."""
    text = "".join(fragments)
    flags = [bool(drafted >> (i % 60) & 1) for i in range(len(text))]
    single = characters(list(zip(text, flags, strict=True)), format, in_reasoning)
    whole = characters([(text, False)], format, in_reasoning)
    assert [c[:2] for c in single] == [c[:2] for c in whole]

    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    chunks = [(text[a:b], flags[a]) for a, b in itertools.pairwise(places)]
    kept = [flag for chunk, flag in chunks for _ in chunk]
    cut = characters(chunks, format, in_reasoning)
    again = characters(list(zip(text, kept, strict=True)), format, in_reasoning)
    assert cut == again


@given(fragments=fragments, format=st.sampled_from(FORMATS), in_reasoning=st.booleans())
def test_no_character_is_lost_but_markers_and_white_space(
    fragments: list[str], format: ChatFormat, in_reasoning: bool
) -> None:
    text = "".join(fragments)
    rest = iter(text)
    got = [c for _, c, _ in characters([(text, False)], format, in_reasoning)]
    assert all(c in rest for c in got), "in order, nothing invented"
    if format.reasoning is None:
        assert "".join(got) == text
        return
    lost = text
    for marker in (format.reasoning.start, format.reasoning.end):
        lost = lost.replace(marker, "")
    missing = len("".join(lost.split())) - len("".join("".join(got).split()))
    assert missing <= 0


def test_the_longest_possible_beginning_is_held_back() -> None:
    assert held_back("abc<", "<end>") == 1
    assert held_back("<en<e", "<end>") == 2
    assert held_back("<end>", "<end>") == 0
    assert held_back("aab", "abx", "bcd") == 2
    assert held_back("", "abc") == 0
    assert held_back("abc") == 0
