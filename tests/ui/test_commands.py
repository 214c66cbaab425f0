"""The slash commands: what each does, says and refuses."""

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the scripted conversation needs a pseudo-terminal", allow_module_level=True)

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.ui.commands import COMMANDS, Leave, SlashCommands
from tests.ui.chat_driver import ScriptedConversation
from tests.ui.chat_window import calls


@pytest.fixture
def conversation(tmp_path: Path) -> ScriptedConversation:
    return ScriptedConversation(tmp_path / "log")


@pytest.fixture
def commands(conversation: ScriptedConversation) -> SlashCommands:
    return SlashCommands(conversation)


def test_help_names_every_command(
    commands: SlashCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.run("/help")
    out, err = capsys.readouterr()
    assert out == ""
    for command in COMMANDS:
        assert f"{command.usage} " in err


def test_system_sets_shows_and_removes(
    commands: SlashCommands,
    conversation: ScriptedConversation,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands.run("/system")
    commands.run("/system You are terse.\nVery.")
    assert conversation.system == "You are terse.\nVery."
    commands.run("/system")
    commands.run("/system none")
    assert conversation.system is None
    assert capsys.readouterr().err == (
        "There is no system prompt.\n"
        + 2 * "System prompt: You are terse.\nVery.\n"
        + "There is no system prompt.\n"
    )


def test_model_shows_and_switches_and_a_failed_switch_changes_nothing(
    commands: SlashCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.run("/model")
    commands.run("/MODEL org/other:Q4_K_M")
    with pytest.raises(NotFoundError):
        commands.run("/model nothing")
    commands.run("/model")
    assert capsys.readouterr().err.splitlines() == [
        "scripted (F32), drafter: parrot",
        "org/other:Q4_K_M, drafter: parrot",
        "org/other:Q4_K_M, drafter: parrot",
    ]


def test_names_from_a_file_cannot_steer_the_terminal(
    commands: SlashCommands,
    conversation: ScriptedConversation,
    capsys: pytest.CaptureFixture[str],
) -> None:
    conversation.model_name = "evil\x1b[2J"
    commands.run("/model")
    assert "\x1b" not in capsys.readouterr().err


def test_save_and_load_take_quoted_and_home_paths(
    commands: SlashCommands,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my chat.json").write_text('["a", "b"]')
    commands.run("/load '~/my chat.json'")
    commands.run("/save '~/two words.json'")
    commands.run("/load ~/two words.json")  # as completion types it
    assert (tmp_path / "two words.json").read_text() == '["a", "b"]'
    assert capsys.readouterr().err.splitlines() == [
        f"Loaded 2 messages from {tmp_path}/my chat.json.",
        f"Saved as {tmp_path}/two words.json.",
        f"Loaded 2 messages from {tmp_path}/two words.json.",
    ]


def test_save_replaces_a_file_only_with_an_exclamation_mark(
    commands: SlashCommands, tmp_path: Path
) -> None:
    path = tmp_path / "my main.py"
    path.write_text("precious")
    for _ in range(2):
        with pytest.raises(UsageError, match="exists already") as error:
            commands.run(f"/save {path}")
        assert path.read_text() == "precious"
    assert error.value.hint == f'To replace it: /save! "{path}"'
    commands.run(error.value.hint.removeprefix("To replace it: "))
    assert path.read_text() == "[]"
    with pytest.raises(UsageError, match="exists already"):
        commands.run(f"/save '{path}'")


def test_a_new_name_of_several_words_is_asked_back(
    commands: SlashCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line, command in [("/save one two", "save"), ("/load one two", "load")]:
        with pytest.raises(UsageError) as error:
            commands.run(line)
        assert error.value.message == f"/{command} takes one file name, and this is 2 words."
        assert f'/{command} "one two"' in str(error.value.hint)
    assert not list(tmp_path.glob("one*"))
    commands.run('/save "one two"')
    assert (tmp_path / "one two").exists()


@pytest.mark.parametrize("line", ["/load ~nobody-of-this-name/x", "/save a\0b"])
def test_impossible_paths_are_refused(commands: SlashCommands, line: str) -> None:
    with pytest.raises(UsageError):
        commands.run(line)


def test_regen_hands_the_answer_back(
    commands: SlashCommands, conversation: ScriptedConversation, tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        commands.run("/regen")
    conversation.send("hello")
    answer = commands.run("/regen")
    assert answer is not None
    assert len(list(answer)) == 6
    assert ["regenerate", "hello"] in calls(tmp_path / "log")


def test_reset_and_leaving(commands: SlashCommands, tmp_path: Path) -> None:
    commands.run("/reset")
    assert calls(tmp_path / "log") == [["reset"]]
    for line in ("/quit", "/exit", "/quit "):
        with pytest.raises(Leave):
            commands.run(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/save", "/save needs a file name."),
        ("/load  ", "/load needs a file name."),
        ("/reset now", "/reset takes nothing after it."),
        ("/quit\nplease", "/quit takes nothing after it."),
        ("/rest", "There is no command /rest. Did you mean /reset?"),
        ("/sys x", "There is no command /sys. Did you mean /system?"),
        ("/q", "There is no command /q. Did you mean /quit?"),
        ("/usr/bin/env is what?", "There is no command /usr/bin/env."),
        ("/", "There is no command /."),
    ],
)
def test_wrong_use_is_said_in_one_line(commands: SlashCommands, line: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        commands.run(line)
    assert error.value.message == message
    assert error.value.hint


def test_the_hint_to_an_unknown_command_sends_the_text_as_it_is(commands: SlashCommands) -> None:
    with pytest.raises(UsageError) as error:
        commands.run("/etc/hosts is what?")
    assert str(error.value.hint).endswith(" //etc/hosts is what?")


@pytest.mark.parametrize("command", ["save", "save!", "load"])
def test_a_name_that_the_system_refuses_does_not_end_the_chat(
    commands: SlashCommands, command: str
) -> None:
    with pytest.raises(LocalspecError, match="File name too long") as refused:
        commands.run(f"/{command} {'x' * 300}")
    assert refused.value.hint == f"Type /{command} FILE"
