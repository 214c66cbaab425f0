"""The longest earlier match, checked token by token against a table of all common suffixes."""

import random
from collections.abc import Callable
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.suffix import SuffixIndex


def _expected(tokens: list[int]) -> list[tuple[int, int] | None]:
    """For every prefix: length and following index of its longest, most recent earlier match."""
    found: list[tuple[int, int] | None] = []
    before = [0] * (len(tokens) + 1)  # [j]: common suffix of tokens[:i] and tokens[:j]
    for i, token in enumerate(tokens, 1):
        row = [0] * (len(tokens) + 1)
        for j in range(1, i):
            row[j] = before[j - 1] + 1 if tokens[j - 1] == token else 0
        length = max(row)
        follow = max(j for j in range(i + 1) if row[j] == length)
        found.append((length, follow) if length else None)
        before = row
    return found


def _matched(index: SuffixIndex) -> tuple[int, int] | None:
    match = index.match()
    return None if match is None else (match.length, match.follow)


def _periodic(period: int) -> Callable[[int], list[int]]:
    return lambda n: [i % period for i in range(n)]


def _fibonacci(n: int) -> list[int]:
    a, b = [0], [0, 1]
    while len(b) < n:
        a, b = b, b + a
    return b[:n]


def _growing_runs(n: int) -> list[int]:
    """x a y aa z aaa …: every run is as deep in the tree as it is long."""
    text: list[int] = []
    run = 1
    while len(text) < n:
        text += [run + 1] + [0] * run
        run += 1
    return text[:n]


def _broken_cycle(n: int, period: int) -> list[int]:
    """A cycle that jumps now and then: deep nodes all over, and a miss every `period` tokens."""
    chance = random.Random(3)
    text = [0]
    while len(text) < n:
        jump = chance.random() < 1 / period
        text.append(chance.randrange(period) if jump else (text[-1] + 1) % period)
    return text


def _repeated_runs(n: int) -> list[int]:
    run = [0] * (n // 8)
    return [t for mark in range(1, 9) for t in [*run, mark]][:n]


_HARD_TEXTS: dict[str, Callable[[int], list[int]]] = {
    "one token": lambda n: [7] * n,
    **{f"period {p}": _periodic(p) for p in range(2, 8)},
    "fibonacci": _fibonacci,
    "growing runs": _growing_runs,
    "repeated runs": _repeated_runs,
    "broken cycle": lambda n: _broken_cycle(n, round(n**0.5)),
    "copied whole": lambda n: random.Random(5).choices(range(150_000), k=n // 2) * 2,
}

_few_tokens = st.integers(2, 3).flatmap(
    lambda k: st.lists(st.integers(0, k - 1), min_size=1, max_size=300)
)
_pasted = st.tuples(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=40),
).map(lambda drawn: [t for i in drawn[1] for t in drawn[0][i % len(drawn[0])]][:300])


@settings(deadline=None, max_examples=400)
@given(_few_tokens | _pasted)
def test_every_prefix_has_the_longest_most_recent_match(tokens: list[int]) -> None:
    """Guards against a match that is too short, and against an older one of equal length."""
    index = SuffixIndex()
    for i, expected in enumerate(_expected(tokens)):
        index.extend(tokens[i : i + 1])
        assert _matched(index) == expected


@settings(deadline=None, max_examples=400)
@given(_few_tokens | _pasted, st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_asking_seldom_gives_the_same(tokens: list[int], steps: list[int]) -> None:
    """Guards the notes put off between two questions: nodes are split while leaves wait."""
    expected = _expected(tokens)
    index = SuffixIndex()
    for step in steps * 300:
        if len(index) == len(tokens):
            break
        index.extend(tokens[len(index) : len(index) + step])
        assert _matched(index) == expected[len(index) - 1]


@pytest.mark.parametrize("name", _HARD_TEXTS)
def test_structured_texts(name: str) -> None:
    """Guards the corners that random texts never reach: long links, long runs of new leaves."""
    tokens = _HARD_TEXTS[name](240)
    index = SuffixIndex()
    for i, expected in enumerate(_expected(tokens)):
        index.extend(tokens[i : i + 1])
        assert _matched(index) == expected


def test_a_text_of_new_tokens_has_no_match() -> None:
    """Guards against a match of length 0, which would propose the start of the text."""
    index = SuffixIndex()
    assert index.match() is None
    index.extend([5, 6, 7])
    assert index.match() is None
    assert index.match_length == 0


@pytest.mark.parametrize(
    ("tokens", "n", "expected"),
    [
        ([1, 2, 3, 4, 9, 2, 3], 3, [4, 9, 2]),
        ([1, 2, 3, 1, 2, 3, 1], 8, [2, 3, 1, 2, 3, 1, 2, 3]),
        ([4, 4], 5, [4, 4, 4, 4, 4]),
        ([1, 2, 1, 3, 1], 1, [3]),
        ([1, 2, 1], 0, []),
    ],
)
def test_a_continuation_goes_on_past_the_end(
    tokens: list[int], n: int, expected: list[int]
) -> None:
    """Guards periodic text: a draft must not stop where the text does."""
    index = SuffixIndex()
    index.extend(tokens)
    match = index.match()
    assert match is not None
    assert index.continuation(match, n) == expected


@pytest.mark.parametrize("name", _HARD_TEXTS)
def test_no_text_is_slow(name: str) -> None:
    """Guards against work that grows with the length of the match or of the text.

    A walk up the whole tree for each token costs milliseconds a token here; 5 µs are usual.
    """
    tokens = _HARD_TEXTS[name](32_768)
    index = SuffixIndex()
    started = perf_counter()
    for i in range(len(tokens)):
        index.extend(tokens[i : i + 1])
        index.match()
    assert (perf_counter() - started) / len(tokens) < 60e-6
