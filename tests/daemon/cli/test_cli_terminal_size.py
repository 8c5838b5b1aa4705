"""The size of the terminal: what `shutil` finds."""

from __future__ import annotations

import os
import pty
import shutil
import sys
import termios

import pytest

from tacitd.cli.terminal_size import measure_terminal

VALUES = ["", "0", "-3", "7", "many"]


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("columns", VALUES)
@pytest.mark.parametrize("lines", VALUES)
def test_the_size_is_that_of_shutil(
    monkeypatch: pytest.MonkeyPatch, columns: str, lines: str, is_terminal: bool
) -> None:
    """The variables, then the terminal, then 80 and 24; also a terminal that does not know its size."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    fd, child = pty.openpty()
    with os.fdopen(os.dup(child if is_terminal else fd), "w") as stream:
        if is_terminal:
            termios.tcsetwinsize(fd, (33, 0))
        monkeypatch.setattr(sys, "__stdout__", stream)
        assert measure_terminal(os.environ) == tuple(shutil.get_terminal_size())
    os.close(fd)
    os.close(child)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert measure_terminal(os.environ) == tuple(shutil.get_terminal_size())
