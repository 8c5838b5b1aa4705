"""`tacitd status --watch` in a real terminal."""

from __future__ import annotations

import pytest

from support_daemon import PROGRAM, Daemon, MakeDaemon
from support_tmux import HAS_TMUX, Tmux

pytestmark = [pytest.mark.scenario, pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")]


def _watch(daemon: Daemon, columns: int, **environ: str) -> Tmux:
    return Tmux(daemon.root, [*PROGRAM, "status", "--watch"], daemon.environ | environ, columns)


@pytest.mark.parametrize("columns", [80, 50])
def test_it_shows_what_happens(make: MakeDaemon, columns: int) -> None:
    """A prompt that is gathered, its line when it is learned, a restart of the daemon; Ctrl-C ends it with 0."""
    daemon = make()
    daemon.start()
    screen = _watch(daemon, columns)
    try:
        lines = screen.wait_for(lambda lines: any("nothing today" in line for line in lines))
        assert lines[0].startswith("tacitd ") and ": running since" in lines[0]
        assert any("$0.00 of" in line for line in lines)
        daemon.type_("s1", "Prefers amber-1")
        screen.wait_for(lambda lines: any("prompts of 1 session" in line for line in lines))
        daemon.synthesize()
        lines = screen.wait_for(lambda lines: any("1 today" in line for line in lines))
        assert any("Prefers amber-1" in line for line in lines)
        assert all(len(line) <= columns for line in lines)
        daemon.stop()
        screen.wait_for(lambda lines: lines[0].startswith("! no daemon runs; waiting for one"))
        daemon.start()
        lines = screen.wait_for(lambda lines: lines[0].startswith("tacitd "))
        assert any("Prefers amber-1" in line for line in lines)
        screen.press("C-c")
        lines = screen.wait_for(lambda lines: any("code 0" in line for line in lines))
        assert not any("Traceback" in line or "Aborted" in line for line in lines)
    finally:
        screen.close()


def test_a_terminal_of_twenty_columns_without_utf8_and_colour(make: MakeDaemon) -> None:
    """It still shows the figures, in ASCII; without a daemon it waits for one, and Ctrl-C ends it with 0 as well."""
    daemon = make()
    daemon.start()
    screen = _watch(
        daemon, 20, LC_ALL="POSIX", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", NO_COLOR="1"
    )
    try:
        lines = screen.wait_for(lambda lines: any("$0.00 of" in line for line in lines))
        assert all(len(line) <= 20 and line.isascii() for line in lines)
        screen.press("C-c")
        screen.wait_for(lambda lines: any("code 0" in line for line in lines))
    finally:
        screen.close()
    daemon.stop()
    screen = _watch(daemon, 60)
    try:
        screen.wait_for(lambda lines: lines[0].startswith("! no daemon runs; waiting for one"))
        screen.press("C-c")
        screen.wait_for(lambda lines: any("code 0" in line for line in lines))
    finally:
        screen.close()


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
