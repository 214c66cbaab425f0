"""Ctrl-C as a request, and the handler given back."""

import signal
import threading

import pytest

from localspec.ui.interrupt import Interrupt


def test_first_asks_second_insists() -> None:
    """Guards an answer that is kept, and one that hangs."""
    former = signal.getsignal(signal.SIGINT)
    with Interrupt() as key:
        assert not key.requested
        signal.raise_signal(signal.SIGINT)
        assert key.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is former


def test_handler_is_back_after_an_error() -> None:
    """Guards Ctrl-C at the next prompt."""
    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyError), Interrupt():
        raise KeyError
    assert signal.getsignal(signal.SIGINT) is former


def test_outside_the_main_thread() -> None:
    """Guards a caller that draws in a thread, where signals cannot be taken."""
    requested = []

    def draw() -> None:
        with Interrupt() as key:
            requested.append(key.requested)

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert requested == [False]
