"""The screen: answers and commands (SPEC T-21)."""

from __future__ import annotations

import io
import sys

import pytest

from tacitd_handlers.tutor.conversation import LearnerCommand, Screen


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
