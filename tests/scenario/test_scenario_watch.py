"""`tacitd status --watch` in a terminal, and `status` where it is none."""

from __future__ import annotations

import signal

import pytest

from support_daemon import PROGRAM, MakeDaemon
from support_terminal import Terminal

pytestmark = pytest.mark.scenario


def test_it_shows_what_happens(make: MakeDaemon) -> None:
    """A prompt that is gathered, its line when it is learned, a restart of the daemon; Ctrl-C ends it with 0."""
    daemon = make()
    daemon.start()
    screen = Terminal([*PROGRAM, "status", "--watch"], daemon.environ, daemon.root)
    try:
        for words in (": running since", "nothing today", "$0.00 of"):
            screen.wait_for(words)
        daemon.type_("s1", "Prefers amber-1")
        screen.wait_for("prompts of 1 session")
        daemon.synthesize()
        screen.wait_for("1 today")
        screen.wait_for("Prefers amber-1")
        daemon.stop()
        screen.wait_for("! no daemon runs; waiting for one")
        daemon.start()
        screen.wait_for(": running since")
        screen.wait_for("Prefers amber-1")
    finally:
        code = screen.close(signal.SIGINT)
    assert code == 0 and "Traceback" not in screen.shown and "aborted" not in screen.shown


def test_status_without_utf8_and_in_a_pipe(make: MakeDaemon) -> None:
    """What the encoding does not have is `?`; a pipe has no colours, and a line is a line."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-→")
    daemon.synthesize()
    daemon.environ |= {"PYTHONIOENCODING": "latin-1"}
    said = daemon.cli("status")
    assert said.returncode == 0 and "Prefers amber-?" in said.stdout and "\x1b" not in said.stdout
    assert "Prefers amber-?" in daemon.cli("log").stdout
