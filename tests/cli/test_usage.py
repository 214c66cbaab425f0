"""What is said of a command line that cannot be read: our form, no validator's words, code 2."""

import subprocess
import sys

import pytest
import typer

from localspec.cli.usage import as_our_own


def _localspec(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "localspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--numerics", "foo", "x"], "'--numerics': "),
        (["run", "--depth", "99", "x"], "'--depth': it must be less than or equal to 64."),
        (["chat", "--ctx", "many"], "'--ctx': it must be a valid integer"),
        (["bench", "--limit", "x"], "--limit"),
        (["run", "--nothing-like-it"], "--nothing-like-it"),
        (["recipes", "a", "b"], "b"),
        (["pull"], "MODEL"),
        (["dance"], "No such command 'dance'."),
    ],
)
def test_a_wrong_command_line(arguments: list[str], words: str) -> None:
    failed = _localspec(*arguments)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("error: ") and words in failed.stderr
    assert "localspec" in failed.stderr.splitlines()[1]
    for theirs in ("Value error", "Input should", "Traceback", "pydantic"):
        assert theirs not in failed.stderr


def test_help_and_version_are_no_failures() -> None:
    assert _localspec("--version").returncode == 0
    assert _localspec("pull", "-h").returncode == 0
    bare = _localspec()
    assert bare.returncode == 2 and "Usage" in bare.stdout + bare.stderr
    assert "error:" not in bare.stderr


def test_the_help_of_pull_says_what_quiet_leaves_out() -> None:
    shown = _localspec("pull", "-h").stdout
    assert "answer" not in shown and "progress" in shown


def test_the_words_of_the_validator_are_replaced() -> None:
    """Whatever option they are about; and an exception of ours is none of typer's."""
    said = as_our_own(typer.BadParameter("Value error, 'x' is no number", param_hint="--n"))
    assert said is not None and said.message == "Invalid value for --n: 'x' is no number."
    assert said.exit_code == 2
    assert as_our_own(ValueError("Value error")) is None
