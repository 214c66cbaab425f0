"""The chat as a person sees it: keys and signals into a pseudo-terminal, a screen out of it."""

import re
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from tests.ui.chat_window import ALT_ENTER, CTRL_C, CTRL_D, CTRL_J, UP, ChatWindow, calls

OpenWindow = Callable[..., ChatWindow]


@pytest.fixture
def open_window(tmp_path: Path) -> Iterator[OpenWindow]:
    windows: list[ChatWindow] = []

    def open_(*arguments: str) -> ChatWindow:
        windows.append(ChatWindow(tmp_path, *arguments))
        return windows[-1]

    yield open_
    for window in windows:
        window.close()


def said(window: ChatWindow) -> list[str]:
    return [call[1] for call in calls(window.log) if call[0] == "send"]


def test_a_question_is_answered_after_a_banner(open_window: OpenWindow) -> None:
    window = open_window()
    window.say("two words")
    window.wait_for_text("<two><words>")
    shown = window.wait_for_prompt()
    assert "scripted (F32), drafter: parrot. /help lists the commands" in shown
    assert shown.index("> two words") < shown.index("<two><words>")
    window.type(CTRL_D)
    assert window.wait_for_end() == 0


def test_several_lines_are_one_question(open_window: OpenWindow) -> None:
    """Alt-Enter, Ctrl-J, a trailing backslash and a pasted text must not send early."""
    window = open_window()
    window.say(f"a{ALT_ENTER}b{CTRL_J}c\\\rd")
    window.wait_for_call("send", "a\nb\nc\nd")
    window.say("\x1b[200~def f():\r\n    return 1\r\x1b[201~# end")
    window.wait_for_call("send", "def f():\n    return 1\n# end")
    window.say("C:\\\\")
    window.wait_for_call("send", "C:\\\\")
    window.say("   ")
    window.say("last")
    window.wait_for_call("send", "last")
    assert len(said(window)) == 4


def test_history_lives_on_and_is_private(open_window: OpenWindow, tmp_path: Path) -> None:
    first = open_window()
    first.say(f"one{ALT_ENTER}two")
    first.wait_for_call("send", "one\ntwo")
    first.wait_for_prompt()
    first.type(b"caf\xff\r")  # no UTF-8: must neither crash nor spoil the file
    first.wait_for_call("send", "caf\ufffd")
    first.wait_for_prompt()
    first.type(CTRL_D)
    assert first.wait_for_end() == 0
    history = tmp_path / "data" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    history.chmod(0o644)  # from elsewhere: must not stay open to others

    second = open_window()
    second.wait_for_prompt()
    second.type(UP)
    second.wait_for_text("> caf\ufffd")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    second.type(UP)
    second.wait_for_text("> one\n  two")
    second.type("\r")
    second.wait_for(lambda: said(second).count("one\ntwo") == 2)


def test_a_history_that_cannot_be_written_stops_nothing(
    open_window: OpenWindow, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    window = open_window()
    window.say("first")
    window.wait_for_call("send", "first")
    window.wait_for_prompt()
    window.type(UP)
    window.wait_for_text("> first", times=2)
    window.type("\r")
    window.wait_for(lambda: said(window) == ["first", "first"])
    assert "xception" not in window.wait_for_prompt()


def test_commands_and_paths_are_completed(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text('["hello"]')
    window = open_window()
    window.wait_for_prompt()
    window.type("/s")
    shown = window.wait_for_text("figures of the last answer")
    assert "/save FILE" in shown
    assert "/quit" not in shown
    window.type(CTRL_C)
    window.wait_for(lambda: "figures" not in window.shown())
    window.type("/sta")
    window.wait_for_text("figures of the last answer")
    window.wait_until_still()
    window.type("\t")
    window.wait_for_text("> /stats")
    window.type("\r")
    window.wait_for_text("accepted  5 (87 %)")
    window.wait_for_prompt()
    window.type(f"/load {tmp_path}/tal")
    window.wait_for_text("talk.json")
    window.wait_until_still()
    window.type("\t")
    window.wait_for(lambda: f"{tmp_path}/talk.json" in window.shown().replace("\n  ", ""))
    window.type("\r")
    window.wait_for_text("Loaded 1 message from")


def test_ctrl_c_clears_what_is_typed_and_leaves_when_pressed_twice(open_window: OpenWindow) -> None:
    window = open_window()
    window.wait_for_prompt()
    window.type("never sent")
    window.wait_for_text("> never sent")
    window.type(CTRL_C)
    shown = window.wait_for_prompt()
    assert "never sent" not in shown
    assert "again" not in shown
    window.type(CTRL_C)
    window.wait_for_text("Press Ctrl-C again")
    window.wait_for_prompt()
    window.type("on second thought")
    window.wait_for_text("> on second thought")
    window.type(CTRL_C)  # clears; that takes the warning back
    window.wait_for_prompt()
    window.type(CTRL_C)
    window.wait_for_text("Press Ctrl-C again", times=2)
    window.wait_for_prompt()
    window.type(CTRL_C)
    assert window.wait_for_end() == 0
    assert said(window) == []


def test_sigint_at_the_prompt_is_ctrl_c(open_window: OpenWindow) -> None:
    window = open_window()
    window.wait_for_prompt()
    window.type("never sent")
    window.wait_for_text("> never sent")
    window.child.kill(signal.SIGINT)
    assert "again" not in window.wait_for_prompt()
    window.child.kill(signal.SIGINT)
    window.wait_for_text("Press Ctrl-C again")
    window.wait_for_prompt()
    window.child.kill(signal.SIGINT)
    assert window.wait_for_end() == 0


def test_ctrl_c_stops_the_answer_and_keeps_it(open_window: OpenWindow) -> None:
    window = open_window()
    window.say("slow")
    window.wait_for_text("<word3>")
    window.type(CTRL_C)
    shown = window.wait_for_prompt()
    assert "<word0><word1><word2><word3>" in shown
    assert "^C" not in shown
    sent = [call[1] for call in calls(window.log) if call[0] == "end"]
    assert 4 <= sent[0] < 50
    assert f"<word{sent[0] - 1}>" in shown.replace("\n", "")
    window.say("and on")
    window.wait_for_text("<and><on>")
    window.wait_for_prompt()
    window.type(CTRL_D)
    assert window.wait_for_end() == 0


def test_a_second_ctrl_c_during_an_answer_leaves(open_window: OpenWindow) -> None:
    """The first is a request that an answer which hangs never looks at."""
    window = open_window()
    window.say("stuck")
    window.wait_for_call("stuck")
    window.type(CTRL_C)
    window.wait_for_call("pressed")
    window.type(CTRL_C)
    assert window.wait_for_end() == 130
    assert ["end", 1] in calls(window.log)


def test_keys_typed_during_an_answer_wait_for_the_prompt(open_window: OpenWindow) -> None:
    """They must neither be echoed into the answer nor lose their Enter."""
    window = open_window()
    window.say("slow")
    window.wait_for_text("<word1>")
    window.type("next one\r")
    time.sleep(0.3)
    window.wait_for_text("<word12>")
    assert "next" not in window.shown()
    window.wait_for_text("<next><one>")
    shown = window.wait_for_prompt()
    assert "".join(f"<word{i}>" for i in range(100)) in shown.replace("\n", "")


def test_keys_typed_during_a_command_wait_for_the_prompt(open_window: OpenWindow) -> None:
    """Their Enter must not arrive as Ctrl-J, which would only make a new line."""
    window = open_window()
    window.say("/model large")
    window.wait_for_call("opening")
    window.type("hello\r")
    window.wait_for_call("send", "hello")


def test_one_ctrl_c_during_a_command_does_not_lose_the_conversation(
    open_window: OpenWindow,
) -> None:
    window = open_window()
    window.say("/model large")
    window.wait_for_call("opening")
    window.type(CTRL_C)
    window.wait_for_text("large, drafter: parrot")
    window.say("hello")
    window.wait_for_call("send", "hello")


def test_an_error_in_a_turn_is_a_line_and_the_chat_goes_on(open_window: OpenWindow) -> None:
    window = open_window()
    window.say("fail")
    window.wait_for_text("error: llama.cpp failed.")
    shown = window.wait_for_prompt()
    assert "<fail>\nerror: llama.cpp failed.\n  Ask again.\n>" in shown
    window.say("refuse")
    window.wait_for_text("error: The prompt has 9000 tokens.\n  Try --ctx 18000")
    window.wait_for_prompt()
    window.type(UP)
    window.wait_for_text("> refuse", times=2)
    window.type(CTRL_C)
    window.say("well then")
    window.wait_for_text("<well><then>")


def test_a_resize_during_an_answer_loses_no_word(open_window: OpenWindow) -> None:
    window = open_window()
    window.say("slow")
    for i, columns in enumerate((60, 100, 45, 80)):
        window.wait_for_text(f"<word{10 + 5 * i}>")
        window.resize(columns, 24)
    window.wait_for_call("end", 100)
    window.wait_for_prompt()
    words = re.findall(r"<word\d+>", window.raw.decode())
    assert words == [f"<word{i}>" for i in range(100)]
    window.say("still here")
    window.wait_for_text("<still><here>")


def test_a_dumb_terminal_gets_plain_lines(open_window: OpenWindow) -> None:
    window = open_window("dumb")
    window.say("plain words")
    shown = window.wait_for_text("<plain><words>")
    assert "scripted (F32)" in shown
    window.say("a\\")
    window.wait_for(lambda: window.shown().endswith("a\\"))
    window.type("b\r")
    window.wait_for_call("send", "a\nb")
    window.wait_for_prompt()
    window.type(b"\xff\r")
    window.wait_for_call("send", "\ufffd")
    window.say("slow")
    window.wait_for_text("<word3>")
    window.type(CTRL_C)
    window.wait_for_text("stopped")
    window.wait_for_prompt()
    window.type(CTRL_C)
    window.wait_for_text("Press Ctrl-C again")
    window.say("/stats")
    window.wait_for_text("tokens/s  21.5")
    window.wait_for_prompt()
    window.type(CTRL_D)
    assert window.wait_for_end() == 0
    assert "\x1b" not in window.raw.decode("utf-8", "replace")


def test_the_terminal_is_left_as_it_was(open_window: OpenWindow) -> None:
    window = open_window()
    before = window.modes()
    window.say("slow")
    window.wait_for_text("<word1>")
    assert window.modes() != before
    window.type(CTRL_C)
    window.wait_for_prompt()
    window.type(CTRL_D)
    window.wait_for(lambda: window.modes() == before)
    assert window.wait_for_end() == 0
