"""A blocking call that a signal ends: what it started has ended before the program goes on."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

import pytest

from support_waiting import PATIENCE
from tacitd_handlers.tutor.cancellable_work import run_cancellable


class Work:
    """A call that sends its process a signal, and takes a while to end its child after it was cancelled."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self.is_clean = False

    def run(self, cancel: threading.Event) -> str:
        os.kill(os.getpid(), self.number)
        assert cancel.wait(PATIENCE)
        threading.Event().wait(0.3)
        self.is_clean = True
        return "answer"


def test_the_result_and_the_error_of_the_work() -> None:
    assert run_cancellable(lambda _: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda _: 1 // 0)


def test_ctrl_c_returns_when_the_work_has_ended() -> None:
    """SPEC T-21: no child outlives the call."""
    work, old = Work(signal.SIGINT), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run_cancellable(work.run) is None and work.is_clean
    finally:
        signal.signal(signal.SIGINT, old)


def test_a_closed_terminal_ends_the_program_when_the_work_has_ended() -> None:
    """SPEC T-21: the exception of a signal handler is raised again, and only then."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    work, old = Work(signal.SIGHUP), signal.signal(signal.SIGHUP, leave)
    try:
        with pytest.raises(SystemExit):
            run_cancellable(work.run)
        assert work.is_clean
    finally:
        signal.signal(signal.SIGHUP, old)
