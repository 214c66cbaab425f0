"""The cursor's position is known, or known to be unknown."""

import pytest

from localspec.ui.columns import CursorColumn


def fed(text: str, columns: int = 10) -> CursorColumn:
    column = CursorColumn()
    column.feed(text, columns)
    return column


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("", True),
        ("abc", True),
        ("0123456789", False),  # waits at the last column
        ("0123456789a", True),
        ("0123456789\n", True),
        ("0123456789\u6f22", True),
        ("012345678\u6f22", True),  # went to the next row whole
        ("\u6f22" * 5, False),
        ("ab\U0001f680", True),  # one cell or two: in the row either way
        ("0123456\U0001f680", True),
        ("01234567\U0001f680", False),
        ("0123456\U0001f680\U0001f680a", False),
        ("0123456\U0001f680\U0001f680a\n", True),
        ("\t", True),
        ("0123456789\t", False),
    ],
)
def test_certain(text: str, certain: bool) -> None:
    """Guards the one moment where drawing a status line would cost a character."""
    assert fed(text).certain(10) is certain


@pytest.mark.parametrize(
    ("before", "text", "stays"),
    [
        ("", "123456789", True),
        ("", "1234567890", False),
        ("1234567", "\u6f22", True),
        ("12345678", "\u6f22", False),
        ("", "a\n", False),
        ("", "\t", False),
        ("1234567890a", "12345678", True),
        ("1234567890a", "123456789", False),
    ],
)
def test_stays_in_row(before: str, text: str, stays: bool) -> None:
    """Guards against text that runs into a status line that still stands."""
    assert fed(before).stays_in_row(text, 10) is stays


def test_lost_until_the_next_line() -> None:
    """Guards the time after a resize, when terminals have moved the cursor each in its way."""
    column = fed("abc")
    column.lose()
    column.feed("def", 10)
    assert not column.certain(10)
    column.feed("\nd", 10)
    assert column.certain(10)


def test_resize_at_line_start_loses_nothing() -> None:
    """Guards the status line during the prompt: it comes back after a resize."""
    column = CursorColumn()
    column.lose()
    assert column.certain(10)
