"""Progress is only shown on a terminal, on standard error."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tacitd.cli.progress_bar import show_progress

SCRIPT = """
from tacitd.cli.progress_bar import show_progress
print("data")
with show_progress("reading") as advance:
    advance(1, 4)
    advance(4, 4)
"""


def test_without_a_terminal_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Messages in a file or a pipe contain no progress."""
    with show_progress("reading") as advance:
        advance(1, 2)
    assert tuple(capfd.readouterr()) == ("", "")


def test_on_a_terminal_it_is_on_standard_error() -> None:
    """Standard output has the data only, and the line is erased in the end."""
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=slave,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "60"},
        timeout=60,
        check=True,
    )
    os.close(slave)
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert done.stdout == b"data\n"
    assert "reading: 1 of 4" in shown and "reading: 4 of 4" in shown and shown.endswith("\r\x1b[K")
