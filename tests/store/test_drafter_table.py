"""docs/drafters.md says what the code does."""

from pathlib import Path

from tests.store.drafter_table import BEGIN, END, PAGE, table


def test_the_page_says_what_is_refused_and_why(tmp_path: Path) -> None:
    """Written again by `python -m tests.store.drafter_table`."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0] == table(tmp_path)
