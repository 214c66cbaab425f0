"""Machine files: the shipped ones are sound, and wrong ones are refused with the place that is wrong."""

from pathlib import Path

import pytest

from localspec.bench.machines import load_machine, machine_names
from localspec.errors import NotFoundError, UnsupportedFileError

GOOD = """
name = "mine"
description = "d"
source = "s"
level = 0.2
rows = [1.0, 1.5, 1.5, 2.5]
"""


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def test_all_kinds_of_machines_are_shipped() -> None:
    assert set(machine_names()) >= {
        "apple-m-series",
        "discrete-gpu",
        "integrated-gpu",
        "cpu-f16",
        "cpu-kquant",
        "manycore-f16",
        "manycore-kquant",
        "moe",
        "mtp-gpu",
    }


@pytest.mark.parametrize("name", machine_names())
def test_a_shipped_machine_is_sound(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert len(machine.rows) == 33
    assert list(machine.rows) == sorted(machine.rows), "more rows never cost less"
    assert machine.pass_s(33) < 33, "nor as much as so many passes"
    assert 0 < machine.level < 1
    assert machine.reading < machine.level
    said = machine.source.lower()
    assert "measured by us" in said or "estimate" in said or "#" in said
    assert len(machine.description) > 20


def test_costs_are_read_off_the_table_and_go_on_beyond_it(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, GOOD))
    assert [machine.pass_s(n) for n in (1, 2, 3, 4, 6)] == [1.0, 1.5, 1.5, 2.5, 4.5]
    assert machine.level_s(1) == pytest.approx(0.2)
    assert machine.level_s(2) == pytest.approx(0.3), "as a pass with two rows"
    assert machine.relative_level == pytest.approx(0.2)
    known = load_machine(written(tmp_path, GOOD + "levels = [0.2, 0.25]\nexpected_level = 0.1\n"))
    assert [known.level_s(n) for n in (1, 2, 3)] == pytest.approx([0.2, 0.25, 0.3])
    assert known.relative_level == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rows = [", "not valid TOML"),
        (f"level = {'9' * 5000}", "not valid TOML"),
        (GOOD.replace("level = 0.2", ""), "level is missing"),
        (GOOD.replace("0.2", "-1"), "level must be 0 or more"),
        (GOOD.replace("0.2", '"0.2"'), "level must be a number"),
        (GOOD.replace("0.2", "inf"), "level must be a number"),
        (GOOD.replace('"d"', "3"), "description must be text in quotes"),
        (GOOD.replace("[1.0, 1.5, 1.5, 2.5]", "[2.0, 3.0]"), "rows must begin with 1.0"),
        (GOOD.replace("[1.0, 1.5, 1.5, 2.5]", "[1.0]"), "rows must have 2 entries or more"),
        (GOOD.replace("[1.0, 1.5, 1.5, 2.5]", "1.0"), "rows must be a list"),
        (GOOD.replace("1.5, 2.5", '"x", 2.5'), "rows.3 must be a number"),
        (GOOD.replace("1.5, 2.5", "nan, 2.5"), "rows.3 must be"),
        (GOOD.replace("1.5, 2.5", "1e-320, 2.5"), "rows.3 must be 0.5 or more"),
        (GOOD.replace("1.5, 2.5", "1e308, 2.5"), "rows.3 must be 1e+06 or less"),
        (GOOD.replace("1.5, 2.5", "0, 2.5"), "rows.3 must be 0.5 or more"),
        (GOOD + "speed = 3\n", "speed is not a field of a machine file"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UnsupportedFileError) as caught:
        load_machine(written(tmp_path, text))
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert "Input should" not in caught.value.message


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = GOOD.replace('name = "mine"', "").replace("0.2", '"x"').replace("2.5", "-1, -2")
    with pytest.raises(UnsupportedFileError) as caught:
        load_machine(written(tmp_path, text + "speed = 3\n"))
    for words in ("name is missing", "level must", "rows.4 must", "rows.5 must", "speed is not"):
        assert words in caught.value.message


def test_unknown_names() -> None:
    with pytest.raises(NotFoundError) as caught:
        load_machine("discret-gpu")
    assert "Did you mean discrete-gpu?" in (caught.value.hint or "")
    with pytest.raises(NotFoundError) as caught:
        load_machine("zzzz")
    assert "Did you mean" not in (caught.value.hint or "")
    with pytest.raises(NotFoundError, match="no machine file"):
        load_machine("none.toml")
