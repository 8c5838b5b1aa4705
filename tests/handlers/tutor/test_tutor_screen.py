"""The screen: answers and commands, and a blocking call that a signal ends (SPEC T-21)."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from types import FrameType

import pytest

from support_waiting import PATIENCE
from tacitd_handlers.tutor.screen import LearnerCommand, Screen, run_cancellable


def test_one_line_is_one_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe: answers, commands in any case, an empty line, the end of the input; no escape sequences are shown."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"yes\n /END \n\n{'x' * 50_000}\n/skip\nleave"))
    screen = Screen()
    said = [screen.read_answer("Why?") for _ in range(7)]
    assert said[:4] == ["yes", LearnerCommand.END, "", "x" * 50_000]
    assert said[4:] == [LearnerCommand.SKIP, "leave", LearnerCommand.LEAVE]
    screen.show_text("\x1b[31mred")
    assert "\x1b" not in capsys.readouterr().out


def test_a_line_that_is_not_text_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC T-21: what cannot be read saves and leaves, and never ends in a traceback."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), "utf-8"))
    assert Screen().read_answer("Why?") is LearnerCommand.LEAVE


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
