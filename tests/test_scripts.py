"""What the scripts share: the environment is made once, mended if half made, and brought up to date."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that pip can install, with a constraints file."""
    folder = tmp_path / "a checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("one")
    (folder / "constraints.txt").write_text("")
    return folder


@pytest.fixture
def environment(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module scripts/environment.py, made for `checkout`."""
    spec = importlib.util.spec_from_file_location("environment", SCRIPTS / "environment.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", checkout)
    monkeypatch.delenv("LOCALSPEC_VENV", raising=False)
    # so that it is taken back afterwards
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=ON")
    return module


@pytest.fixture
def commands(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run; making an environment leaves its interpreter."""
    seen: list[list[str]] = []

    def call(command: list[str]) -> int:
        seen.append(command)
        if "venv" in command:
            python = Path(environment.python())
            python.parent.mkdir(parents=True)
            python.touch()
        return 0

    monkeypatch.setattr(environment, "call", call)
    monkeypatch.setattr(environment, "_has_pip", lambda: Path(environment.python()).exists())
    return seen


def test_a_second_run_does_nothing(environment: ModuleType, commands: list[list[str]]) -> None:
    environment.ready()
    assert [command[2] for command in commands] == ["venv", "pip"]
    environment.ready()
    assert len(commands) == 2


def test_a_change_of_what_is_pinned_installs_again(
    environment: ModuleType, commands: list[list[str]], checkout: Path
) -> None:
    environment.ready()
    (checkout / "constraints.txt").write_text("typer==1")
    environment.ready()
    assert [command[2] for command in commands] == ["venv", "pip", "pip"]


def test_an_extra_is_installed_once_and_does_for_those_without(
    environment: ModuleType, commands: list[list[str]], checkout: Path
) -> None:
    environment.ready("dev")
    assert commands[-1][-2:] == ["-e", f"{checkout}[dev]"]
    environment.ready()
    assert len(commands) == 2


def test_without_the_extra_it_is_still_to_be_installed(
    environment: ModuleType, commands: list[list[str]]
) -> None:
    environment.ready()
    environment.ready("dev")
    assert [command[2] for command in commands] == ["venv", "pip", "pip"]


def test_another_checkout_does_not_take_a_shared_environment_for_its_own(
    environment: ModuleType,
    commands: list[list[str]],
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOCALSPEC_VENV", str(checkout.parent / "shared"))
    environment.ready()
    other = checkout.with_name("other")
    checkout.rename(other)
    monkeypatch.setattr(environment, "ROOT", other)
    environment.ready()
    assert commands[-1][-1] == str(other)


def test_a_relative_folder_is_meant_from_where_the_script_was_started(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALSPEC_VENV", "mine")
    assert environment.folder() == tmp_path / "mine"


def test_an_environment_without_pip_is_made_again(environment: ModuleType) -> None:
    """Where ensurepip is missing, `python -m venv` fails and leaves an interpreter behind."""
    making = [sys.executable, "-m", "venv", "--without-pip", str(environment.folder())]
    subprocess.run(making, check=True)
    assert Path(environment.python()).exists()
    assert not environment._has_pip()


def test_a_failed_install_says_what_is_needed_and_is_tried_again(
    environment: ModuleType, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    succeed = environment.call
    monkeypatch.setattr(environment, "call", lambda c: succeed(c) if "venv" in c else 1)
    with pytest.raises(SystemExit) as left:
        environment.ready()
    assert "C++ compiler" in str(left.value.code)
    monkeypatch.setattr(environment, "call", succeed)
    environment.ready()
    assert [command[2] for command in commands] == ["venv", "pip"]


def test_an_old_python_is_told_so(
    environment: ModuleType, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "OLDEST", (9, 0))
    with pytest.raises(SystemExit) as left:
        environment.ready()
    assert "needs Python 9.0 or newer" in str(left.value.code)
    assert not commands


def test_exit_codes_are_passed_on(environment: ModuleType) -> None:
    def exits(how: str) -> int:
        return environment.call([sys.executable, "-c", f"import os, sys; {how}"])

    assert exits("sys.exit(0)") == 0
    assert exits("sys.exit(5)") == 5
    if os.name == "posix":
        assert exits("os.kill(os.getpid(), 9)") == 128 + 9


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a group of processes")
def test_ctrl_c_lets_the_command_end_in_its_own_way(tmp_path: Path) -> None:
    """subprocess.call kills it a quarter of a second later: the answer so far was lost."""
    child = (
        "import sys, time, pathlib\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "try:\n    (place / 'up').touch(); time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(1); (place / 'kept').touch(); sys.exit(7)\n"
    )
    parent = (
        f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import environment\n"
        f"environment.run([sys.executable, '-c', {child!r}, {str(tmp_path)!r}])\n"
    )
    running = subprocess.Popen([sys.executable, "-c", parent], start_new_session=True)
    for _ in range(200):
        if (tmp_path / "up").exists():
            break
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(timeout=20) == 130
    assert (tmp_path / "kept").exists()


def test_quickstart_hands_everything_on(tmp_path: Path) -> None:
    """An option must not become part of the prompt."""
    (tmp_path / "environment.py").write_text(
        "ready = say = lambda *_: None\npython = lambda: 'python'\nrun = lambda c: print(c[3:])\n"
    )
    script = tmp_path / "quickstart"
    script.write_text((SCRIPTS / "quickstart").read_text(encoding="utf-8"), encoding="utf-8")

    def said(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, str(script), *arguments], capture_output=True, text=True, check=True
        ).stdout

    assert said("-n", "5", "hi").strip() == "['run', '-n', '5', 'hi']"
    assert "merges two sorted lists" in said()
    assert "localspec run --help" in said("--help")
