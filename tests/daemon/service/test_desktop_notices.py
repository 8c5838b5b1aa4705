"""Notices on the desktop: what is shown, how often, and that nothing waits for them."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from support_waiting import PATIENCE, until
from tacitd.handler import Degradation
from tacitd.service.desktop_notices import (
    ABSENT,
    EVERY,
    LONGEST,
    DesktopNotices,
    describe_learned,
    make_command,
    run_program,
)
from tacitd.testing import FakeClock
from tacitd.work.activities import Activities, Activity


class Desk:
    """The notices with a program that only records how it was called."""

    def __init__(self, *, program: str | None = "/bin/notify-send", on: bool = True) -> None:
        self.clock = FakeClock()
        self.activities = Activities(self.clock.now)
        self.on, self.program = on, program
        self.ran: list[Sequence[str]] = []
        self.reported: list[Degradation | None] = []
        self.error: Exception | None = None
        self.notices = DesktopNotices(
            self.activities,
            lambda: self.on,
            self.reported.append,
            self.clock.monotonic,
            self._run,
            lambda name: self.program if name == "notify-send" else None,
        )

    def _run(self, command: Sequence[str]) -> None:
        self.ran.append(command)
        if self.error is not None:
            raise self.error

    @property
    def texts(self) -> list[str]:
        return [command[-1] for command in self.ran]


def test_what_is_learned_is_shown() -> None:
    """Not what is read or asked, and nothing that was learned before the start."""
    desk = Desk()
    desk.activities.add("read", "1 prompt")
    assert desk.notices.show_new() is None and desk.ran == []
    desk.activities.add("learned", "Use pnpm", "shop/LEARNED.md")
    assert desk.notices.show_new() is None
    assert desk.ran == [
        ["/bin/notify-send", "--app-name=tacitd", "--", "tacitd learned", "Use pnpm  (shop/LEARNED.md)"]
    ]


def test_at_most_one_a_minute() -> None:
    """What is learned meanwhile comes together."""
    desk = Desk()
    desk.activities.add("learned", "one")
    desk.notices.show_new()
    for text in ("two", "three"):
        desk.activities.add("learned", text)
        assert desk.notices.show_new() == EVERY
    desk.clock.advance(EVERY - 1)
    assert desk.notices.show_new() == 1.0 and desk.texts == ["one"]
    desk.clock.advance(1)
    assert desk.notices.show_new() is None
    assert desk.texts == ["one", "2 lines, the newest: three"]


def test_off_shows_nothing_also_later() -> None:
    """Off is the default; what was learned while it was off is not shown when a reload turns it on."""
    desk = Desk(on=False)
    desk.activities.add("learned", "one")
    assert desk.notices.show_new() is None
    desk.on = True
    assert desk.notices.show_new() is None and desk.ran == []
    desk.activities.add("learned", "two")
    desk.notices.show_new()
    assert desk.texts == ["two"]


def test_a_strangers_text_is_an_argument() -> None:
    """After `--`, so that it is no option; markup is escaped, control characters are removed, and it is short."""
    text = describe_learned([Activity(0.0, "learned", "--urgency=critical <b>x</b> & \x1b[2J\n" + "y" * 999)])
    assert text.isprintable() and len(text) == LONGEST
    command = make_command(lambda name: f"/bin/{name}", text)
    assert command is not None and command[2] == "--"
    assert command[4].startswith("--urgency=critical &lt;b&gt;x&lt;/b&gt; &amp; ")
    mac = make_command(
        lambda name: "/usr/bin/osascript" if name == "osascript" else None, 'a" & (do shell script "x")'
    )
    assert mac is not None and mac[-3:] == ["--", "tacitd learned", 'a" & (do shell script "x")']
    assert not any("shell script" in part for part in mac[:-1])
    assert make_command(lambda name: None, "x") is None


def test_without_a_program_it_is_a_problem_until_it_is_there() -> None:
    """`status` names it; turning the setting off clears it too."""
    desk = Desk(program=None)
    desk.activities.add("learned", "one")
    desk.notices.show_new()
    (wrong,) = desk.reported
    assert wrong is not None and wrong.id == ABSENT and "notify.learned = false" in wrong.hint
    desk.on = False
    desk.notices.show_new()
    assert desk.reported[-1] is None
    desk.on, desk.program = True, "/bin/notify-send"
    desk.clock.advance(EVERY)
    desk.activities.add("learned", "two")
    desk.notices.show_new()
    assert desk.reported[-1] is None and desk.texts == ["two"]


@pytest.mark.parametrize("error", [OSError("gone"), subprocess.TimeoutExpired("x", 10)])
def test_a_program_that_fails_is_no_fault(error: Exception) -> None:
    """The next line is shown as before."""
    desk = Desk()
    desk.error = error
    desk.activities.add("learned", "one")
    desk.notices.show_new()
    desk.clock.advance(EVERY)
    desk.activities.add("learned", "two")
    desk.notices.show_new()
    assert desk.texts == ["one", "two"]


def test_a_desktop_that_hangs_delays_nobody() -> None:
    """The thread waits for it, and what is announced meanwhile costs nothing; leaving the block does not wait either."""
    hangs, asked = threading.Event(), threading.Event()
    desk = Desk()

    def run(command: Sequence[str]) -> None:
        asked.set()
        hangs.wait(PATIENCE)

    desk.notices._run = run
    begin = time.monotonic()
    with desk.notices:
        desk.activities.add("learned", "one")
        assert asked.wait(PATIENCE)
        for number in range(1000):
            desk.activities.add("learned", str(number))
    assert time.monotonic() - begin < PATIENCE
    hangs.set()
    until(lambda: not desk.notices._thread.is_alive())


def test_the_program_has_no_shell_no_input_and_a_limit(tmp_path: Path) -> None:
    """It gets the daemon's environment and each argument as it is."""
    out = tmp_path / "out"
    run_program(
        ["/bin/sh", "-c", f'printf "%s|" "$A" "$@" >{out}; cat >>{out}', "sh", "$(id)", "; x"], {"A": "b"}
    )
    assert out.read_text() == "b|$(id)|; x|"
