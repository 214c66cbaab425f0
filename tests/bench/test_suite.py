"""Suites: our own prompts, files of others, and lines that are wrong."""

import json
from collections import Counter
from pathlib import Path

import pytest

from localspec.bench.suite import load_suite, parse_suite, spread
from localspec.errors import NotFoundError, UnsupportedFileError

CLASSES = ("code", "edit", "prose", "chat", "json", "maths", "summarise", "translate")


def test_our_own_suite_covers_every_class() -> None:
    prompts = load_suite("builtin")
    counts = Counter(p.prompt_class for p in prompts)
    assert set(counts) == set(CLASSES)
    assert min(counts.values()) >= 3
    assert len({p.prompt_id for p in prompts}) == len(prompts)
    for prompt in prompts:
        assert len(prompt.turns) == (2 if prompt.prompt_class == "chat" else 1)
        if prompt.prompt_class == "edit":
            assert 20 <= prompt.turns[0][0].content.count("\n") <= 45, "the text is in the prompt"


def test_turns_and_messages() -> None:
    lines = [
        {"question_id": 81, "category": "writing", "turns": ["One", "Two"], "reference": ["x"]},
        {
            "id": "m",
            "class": "qa",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": [{"type": "text", "text": "c"}]},
                {"role": "user", "content": "d"},
            ],
        },
        {"turns": ["no id"]},
    ]
    text = "\n\n".join(json.dumps(line) for line in lines)
    first, second, third = parse_suite(text, "s")
    assert (first.prompt_id, first.prompt_class) == ("81", "writing")
    assert [[m.content for m in turn] for turn in first.turns] == [["One"], ["Two"]]
    assert second.system == "Be brief."
    # a given answer is not written again
    assert [[m.content for m in turn] for turn in second.turns] == [["a", "b", "c"], ["d"]]
    assert (third.prompt_id, third.prompt_class) == ("line-5", "other")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        '{"turns": "text"}',
        '{"turns": []}',
        '{"turns": [1]}',
        '{"turns": ["  "]}',
        '{"id": true, "turns": ["a"]}',
        '{"id": "\\ud800", "turns": ["a"]}',
        '{"id": "good", "turns": ["again"]}',
        '{"messages": []}',
        '{"messages": [{"role": "assistant", "content": "a"}]}',
        '{"messages": [{"role": "robot", "content": "a"}]}',
        '{"messages": [{"role": "user", "content": null}]}',
        '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
        '{"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]}',
        "[" * 100_000,
    ],
)
def test_a_wrong_line_is_refused_with_its_number(line: str) -> None:
    good = '{"id": "good", "turns": ["a"]}'
    with pytest.raises(UnsupportedFileError, match=r"Line 3 of s\.jsonl"):
        parse_suite(f"{good}\n\n{line}\n", "s.jsonl")


def test_empty_unknown_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFileError, match="empty"):
        parse_suite("\n \n", "s")
    with pytest.raises(NotFoundError) as caught:
        load_suite("bultin")
    assert "Did you mean builtin" in str(caught.value.hint)
    with pytest.raises(NotFoundError, match="no suite file"):
        load_suite(str(tmp_path / "none.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes(b'{"turns": ["\xe9"]}')
    with pytest.raises(UnsupportedFileError, match="UTF-8"):
        load_suite(str(tmp_path / "latin.jsonl"))


def test_a_limit_is_spread_over_the_classes() -> None:
    prompts = load_suite("builtin")
    assert Counter(p.prompt_class for p in spread(prompts, 8)) == Counter(CLASSES)
    nine = spread(prompts, 9)
    assert len(nine) == 9
    assert nine == [p for p in prompts if p in nine], "in the order of the suite"
    assert spread(prompts, None) == spread(prompts, 1000) == prompts
