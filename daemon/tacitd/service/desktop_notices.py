"""Notices on the desktop for learned lines (`notify.learned`, off by default), through notify-send or osascript.

A thread of its own waits for what was learned and starts the program, so nothing waits for a desktop that hangs. At most one
notice a minute is shown; what is learned meanwhile comes together. No shell is used, and the text, which strangers may have
written, is an argument after `--`.

Public sources: notify-send(1), whose body may contain markup (Desktop Notifications Specification, "Markup"); osascript(1).
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from loguru import logger

from tacitd.app import App
from tacitd.handler import Degradation
from tacitd.work.activities import STORED, Activities, Activity

EVERY = 60.0
"""Seconds between two notices."""
PATIENCE = 10.0
"""Seconds after which the program is killed."""
LONGEST = 200
"""Characters of a notice."""
TITLE = "tacitd learned"
ABSENT = "notify.absent"
SCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")

Run = Callable[[Sequence[str]], None]
"""Runs a program to its end. Raises OSError or subprocess.SubprocessError."""
Find = Callable[[str], str | None]
"""Given a program's name, its path; None if there is none."""


def make_command(find: Find, text: str) -> list[str] | None:
    """Given the text, return the command that shows it; None where no such program is installed."""
    if (program := find("notify-send")) is not None:
        import html  # its table of names is half a megabyte

        return [program, "--app-name=tacitd", "--", TITLE, html.escape(text, quote=False)]
    if (program := find("osascript")) is not None:
        script = [part for line in SCRIPT for part in ("-e", line)]
        return [program, *script, "--", TITLE, text]
    return None


def describe_learned(learned: Sequence[Activity]) -> str:
    """Given what was learned, newest last, return the text: one line, or the number and the newest one."""
    newest = learned[-1]
    text = f"{newest.text}  ({newest.where})" if newest.where else newest.text
    text = text if len(learned) == 1 else f"{len(learned)} lines, the newest: {text}"
    return "".join(char if char.isprintable() else " " for char in text)[:LONGEST]


class DesktopNotices:
    """Shows what is learned, as a context manager: the thread runs inside the block."""

    def __init__(
        self,
        activities: Activities,
        is_on: Callable[[], bool],
        report: Callable[[Degradation | None], None],
        monotonic: Callable[[], float],
        run: Run,
        find: Find,
    ) -> None:
        """`is_on` is asked for each notice, so that a reload counts. `report` gets what is wrong, or None."""
        self._activities, self._is_on, self._report = activities, is_on, report
        self._monotonic, self._run, self._find = monotonic, run, find
        self._mark = activities.get_mark()
        self._next = monotonic()
        self._woken, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._wait_and_show, name="tacitd-notices", daemon=True)

    def show_new(self) -> float | None:
        """Show what was learned since the last notice. Returns the seconds until that is allowed, if it is not yet."""
        if not self._is_on():
            self._mark = self._activities.get_mark()
            self._report(None)
            return None
        if (left := self._next - self._monotonic()) > 0:
            return left
        numbered = self._activities.list_numbered(self._mark)
        self._mark = numbered[-1][0] if numbered else self._mark
        learned = [one for _, one in numbered if one.did == STORED]
        if learned:
            self._next = self._monotonic() + EVERY
            self._show(describe_learned(learned))
        return None

    def _show(self, text: str) -> None:
        command = make_command(self._find, text)
        if command is None:
            what = "notify.learned is on, but neither notify-send nor osascript is installed"
            hint = "install notify-send (libnotify), or set notify.learned = false"
            self._report(Degradation(ABSENT, what, hint))
            return
        self._report(None)
        try:
            self._run(command)
        except (OSError, subprocess.SubprocessError) as error:
            logger.debug("a desktop notice was not shown: {}", type(error).__name__)

    def _wait_and_show(self) -> None:
        left: float | None = None
        while not self._closing.is_set():
            self._woken.wait(left)
            self._woken.clear()
            if not self._closing.is_set():
                left = self.show_new()

    def __enter__(self) -> DesktopNotices:
        self._remove = self._activities.add_waker(self._woken.set)
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._remove()
        self._closing.set()
        self._woken.set()


def make_desktop_notices(app: App) -> DesktopNotices:
    """The notices of a daemon, with its settings and its environment."""

    def report(wrong: Degradation | None) -> None:
        if wrong is None:
            app.degraded.pop(ABSENT, None)
        else:
            app.degraded[ABSENT] = wrong

    return DesktopNotices(
        app.activities,
        lambda: app.config.notify.learned,
        report,
        app.clock.monotonic,
        lambda command: run_program(command, app.environ),
        lambda name: shutil.which(name, path=app.environ.get("PATH", "")),
    )


def run_program(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run a program without input and output, for ten seconds at most. Raises OSError or subprocess.SubprocessError."""
    nothing = subprocess.DEVNULL
    subprocess.run(
        list(command),
        env=dict(environ),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        timeout=PATIENCE,
        check=False,
        start_new_session=True,
    )
