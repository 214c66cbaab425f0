"""Copies with small edits: where they are found again, and when they are given up."""

from localspec.engine.drafters.copying import Copy
from localspec.engine.suffix import Match

SOURCE = list(range(100, 160))


def grown(copy: Copy, tokens: list[int], more: list[int]) -> None:
    for token in more:
        tokens.append(token)
        copy.take(tokens, len(tokens) - 1)


def begun(n: int = 20) -> tuple[Copy, list[int]]:
    """A source, a separator, and a copy of its first `n` tokens."""
    tokens = [*SOURCE, 1, *SOURCE[:n]]
    copy = Copy()
    copy.follow(Match(n, n))
    return copy, tokens


def test_an_unbroken_copy_needs_no_help() -> None:
    copy, tokens = begun()
    grown(copy, tokens, SOURCE[20:25])
    assert copy.resumed(tokens) is None


def test_a_replaced_token() -> None:
    copy, tokens = begun()
    grown(copy, tokens, [2])
    assert copy.resumed(tokens) is None
    grown(copy, tokens, SOURCE[21:22])
    assert copy.resumed(tokens) == Match(1, 22)


def test_tokens_put_in_and_left_out() -> None:
    copy, tokens = begun()
    grown(copy, tokens, [2, 3, 4, 5, SOURCE[20]])
    assert copy.resumed(tokens) == Match(1, 21)
    copy, tokens = begun()
    grown(copy, tokens, [SOURCE[30], SOURCE[31]])
    assert copy.resumed(tokens) == Match(2, 32)


def test_the_nearest_of_equal_places_wins() -> None:
    source = [7, 100, 101, 7, 102, 103, 7, 104]
    tokens = [*source, 1, *source[:3]]
    copy = Copy()
    copy.follow(Match(3, 3))
    grown(copy, tokens, [50, 102, 103, 60])
    grown(copy, tokens, [7])
    # expected after one token that stands for one: the 7 before 104
    assert copy.resumed(tokens) == Match(1, 7)


def test_a_resumed_copy_is_followed_until_it_is_sure() -> None:
    copy, tokens = begun()
    grown(copy, tokens, [2, SOURCE[25]])
    match = copy.resumed(tokens)
    assert match == Match(1, 26)
    copy.follow(match)
    grown(copy, tokens, SOURCE[26:28])
    assert copy.resumed(tokens) is None
    grown(copy, tokens, [3, SOURCE[29]])
    assert copy.resumed(tokens) == Match(1, 30)


def test_a_copy_that_does_not_come_back_is_given_up() -> None:
    copy, tokens = begun()
    grown(copy, tokens, [2] * 10)
    grown(copy, tokens, SOURCE[30:31])
    assert copy.resumed(tokens) is not None
    grown(copy, tokens, [2] * 10)
    grown(copy, tokens, SOURCE[40:41])
    assert copy.resumed(tokens) is None


def test_nothing_was_ever_copied() -> None:
    copy, tokens = Copy(), [1, 2, 1]
    grown(copy, tokens, [2])
    assert copy.resumed(tokens) is None
