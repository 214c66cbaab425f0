"""Files that hold no usable function, each refused with a sentence that says why."""

import sys
from pathlib import Path

import pytest

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.termination import Terminated
from localspec.tools.functions import load_functions


def write(folder: Path, text: str, name: str = "tools.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> LocalspecError:
    folders = list(sys.path)
    with pytest.raises(LocalspecError) as caught:
        load_functions(path)
    assert sys.path == folders
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith(".")
    return caught.value


def test_there_is_no_such_file(tmp_path: Path) -> None:
    error = refusal(tmp_path / "no.py")
    assert isinstance(error, NotFoundError)
    assert error.hint == "Name a Python file with functions: --tools FILE.py"
    assert "is a folder" in refusal(tmp_path).message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ndef f(:\n", "is not Python, line 2: "),
        ("\0", "is not Python"),
        (
            "x = 1\nraise ValueError('broken.')\n",
            "cannot be imported (line 2): ValueError: broken.",
        ),
        ("raise KeyError\n", "cannot be imported (line 1): KeyError."),
        ("import sys\nsys.exit(1)\n", "ends the program when it is imported (line 2)."),
        ("x = 1\n", "defines no public function."),
        ("def _f(): ...\n", "defines no public function."),
        ("__all__ = ['g']\ndef f(): ...\n", "names g in __all__, which is no function of it."),
        ("__all__ = ['C']\nclass C: ...\n", "names C in __all__, which is no function of it."),
    ],
)
def test_what_is_no_file_of_functions(tmp_path: Path, text: str, words: str) -> None:
    error = refusal(write(tmp_path, text))
    assert isinstance(error, UnsupportedFileError)
    assert f"{tmp_path / 'tools.py'} {words}" in error.message


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "tools.py"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not Python" in refusal(path).message


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("def f(a: int, b): ...", "has no type for its parameter b", "b: str"),
        ("def f(*a: int): ...", "has *a: int", "each parameter"),
        ("def f(**k): ...", "has **k", "each parameter"),
        ("def f(a: int, /): ...", "has the parameter a before a /", "Leave out the /"),
        ("def f(a: 'Nowhere'): ...", "has a type that cannot be found: ", "Import the type"),
        ("def f(a: open): ...", "has a type that JSON has no value for: a", "Take str"),
        ("class C: ...\ndef f(a: C): ...", "has a type that JSON has no value for: a", "Take str"),
        (
            "from collections.abc import Callable\ndef f(a: Callable[[], int]): ...",
            "has a type that JSON has no value for: a",
            "Take str",
        ),
        ("def größe(): ...", "has a name that no model could call", "A name begins"),
        (f"def {'f' * 65}(): ...", "has a name that no model could call", "A name begins"),
        (
            "from pydantic import Field\ndef f(a: int = Field(3)): ...",
            "has a Field as the default of its parameter a",
            "Annotated[",
        ),
    ],
)
def test_functions_that_no_model_could_call(
    tmp_path: Path, text: str, words: str, hint: str
) -> None:
    error = refusal(write(tmp_path, text))
    assert isinstance(error, UnsupportedFileError)
    assert error.message.startswith("The function ")
    assert words in error.message
    assert hint in (error.hint or "")


def test_a_file_that_fails_leaves_no_module(tmp_path: Path) -> None:
    before = set(sys.modules)
    refusal(write(tmp_path, "raise ValueError"))
    assert set(sys.modules) <= before


def test_a_module_that_is_missing_is_named_with_how_to_get_it(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, "\nimport nothing_of_that_name.sub\n"))
    assert "(line 2): ModuleNotFoundError: No module named 'nothing_of_that_name'" in error.message
    assert (error.hint or "").endswith("-m pip install nothing_of_that_name")


def test_a_fault_in_a_file_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "def broken(:\n", "besides_it.py")
    message = refusal(write(tmp_path, "import besides_it\n")).message
    assert f"(line 1 of {tmp_path / 'besides_it.py'}): SyntaxError" in message


def test_files_beside_it_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "def helper(): return 'helped'\n", "helper_beside.py")
    path = write(tmp_path, "from helper_beside import helper\ndef f(): return helper()\n")
    (tool,) = load_functions(path)
    assert tool.call({}, 5) == "helped"
    assert str(tmp_path) not in sys.path


def test_two_files_of_one_name_do_not_mix(tmp_path: Path) -> None:
    tools = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        head = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
        text = f"{head}def f(p: P): return '{folder}'"
        tools += load_functions(write(tmp_path / folder, text))
    assert [tool.call({"p": {"x": 1}}, 5) for tool in tools] == ["a", "b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Terminated(143)])
def test_what_ends_us_goes_through_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr("builtins.error_of_the_test", error, raising=False)
    with pytest.raises(type(error)):
        load_functions(write(tmp_path, "raise error_of_the_test"))
