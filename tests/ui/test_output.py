"""What goes to which stream, in which characters."""

import io
import json
import os
import sys

import pytest
from rich.text import Text

from localspec.errors import LocalspecError
from localspec.events import Notice
from localspec.ui.output import prepare_streams, print_json, say, show_error, show_notice


def encoded(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    data = io.BytesIO()
    return data, io.TextIOWrapper(data, encoding=encoding, newline="\n")


def test_error_is_a_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards standard output, and a message that quotes a file with control characters."""
    show_error(LocalspecError("There is no\n\x1b[2Jmodel [bold]x[/bold].", "localspec models"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: There is no ^[[2Jmodel [bold]x[/bold].\n  localspec models\n"


def test_notice(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards standard output against notices."""
    show_notice(Notice("Careful.", "Do this."))
    assert capsys.readouterr() == ("", "Careful.\n  Do this.\n")


def test_long_lines_stay_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards a path that is copied from the screen or read by a program."""
    say(Text("x" * 500))
    assert capsys.readouterr().err == "x" * 500 + "\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_json_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a record in a pipe that is not UTF-8: no character is lost."""
    data, stream = encoded(encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"text": "\u6f22 \xe9 \ud83d"})
    assert json.loads(data.getvalue().decode(encoding)) == {"text": "\u6f22 \xe9 \ud83d"}
    assert data.getvalue().count(b"\n") == 1


def test_no_character_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a program whose output goes to an ASCII pipe."""
    data, stream = encoded("ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    prepare_streams()
    print("\u6f22", flush=True)
    assert data.getvalue().startswith(b"\\u6f22")


def test_process_without_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a start with closed streams, where Python has none."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    prepare_streams()
    with sys.stdin, sys.stdout, sys.stderr:
        show_error(LocalspecError("lost", "lost"))
        print_json({})
        assert sys.stdin.read() == ""
        assert [s.name for s in (sys.stdout, sys.stderr)] == [os.devnull] * 2
