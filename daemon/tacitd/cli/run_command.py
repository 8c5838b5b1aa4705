"""`tacitd run`: the daemon in the foreground, under a service manager, detached, or once."""

from __future__ import annotations

import faulthandler
import math
import os
import threading
from contextlib import closing, suppress
from functools import partial
from signal import SIG_IGN, SIGHUP, SIGINT, SIGTERM, Signals, getsignal
from typing import TYPE_CHECKING, Literal

import click

from tacitd.cli.common import echo_message, get_paths
from tacitd.cli.status_lines import parked_lines
from tacitd.errors import PARKED, TacitdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tacitd.app import App
    from tacitd.config.settings import Config

Mode = Literal["foreground", "service", "detached"]


@click.command(
    epilog="\b\nExample: tacitd run\nExample: tacitd run --once   (from cron, or to try tacitd out)"
)
@click.option("--once", is_flag=True, help="Handle everything that waits, sessions that ended too, then end.")
@click.option("--quiet", is_flag=True, help="Print errors and warnings only.")
@click.option(
    "--service",
    is_flag=True,
    help="Run under systemd or launchd: report the status to it, and log for it.",
)
@click.option("--detached", type=int, hidden=True, default=None)
@click.pass_context
def run(ctx: click.Context, once: bool, quiet: bool, service: bool, detached: int | None) -> None:
    """Watch the transcripts that Claude Code writes, and learn from them.

    It prints what it watches, what it may cost and what is missing. It ends with Ctrl-C, SIGTERM or `tacitd stop`.
    Transcripts that exist at the very first start are taken as read: they cost nothing unless you run `tacitd scan`.
    """
    if detached is not None:
        ctx.exit(_run_detached(detached))
    ctx.exit(_run_once(quiet) if once else _run_until_stopped("service" if service else "foreground", quiet))


def _run_once(quiet: bool) -> int:
    from tacitd.cli.in_process import open_app
    from tacitd.methods import build_methods
    from tacitd.work.activities import activity_line, find_newest, list_since

    with open_app(get_paths()) as app:
        table, mark = build_methods(app), find_newest(app.store.rows)
        table["sync"]({})
        jobs = [j.name for spec in app.found.plugins for j in spec.jobs if math.isfinite(j.every)]
        for job in dict.fromkeys(jobs):
            table["due"]({"job": job})  # the schedule would start it some time later
        said = table["sync"]({})
        happened = list_since(app.store.rows, mark)
    for activity in () if quiet else happened:
        echo_message(activity_line(activity))
    for text, hint in parked_lines(said["parked"]):
        echo_message(f"parked: {text}", hint)
    return PARKED if said["parked"] else 0


def _run_detached(fd: int) -> int:
    """`fd`: the pipe to the parent process, which receives the exit code."""
    from tacitd.cli.standard_streams import echo_error
    from tacitd.service.detach import run_detached

    def work() -> int:
        return _run_until_stopped("detached", quiet=True)

    return run_detached(get_paths().state_dir, fd, work, echo_error)


def _run_until_stopped(mode: Mode, quiet: bool) -> int:
    from loguru import logger

    from tacitd.app import build_app
    from tacitd.clock import SystemClock
    from tacitd.control.server import Server
    from tacitd.files.editors import Editors
    from tacitd.methods import build_methods
    from tacitd.service.banner import banner_lines
    from tacitd.service.signals import handle_signals
    from tacitd.service.store_wait import open_when_possible
    from tacitd.service.supervision import Notifier, Supervision, limit_heap

    limit_heap()
    if mode != "foreground":
        faulthandler.enable()  # a watchdog's SIGABRT leaves the stacks in the journal, or in start.log
    places = get_paths()
    notifier = Notifier.from_env(os.environ) if mode == "service" else Notifier()
    signals = [SIGTERM, SIGINT, SIGHUP]
    if mode == "foreground" and getsignal(SIGHUP) is SIG_IGN:
        signals.remove(SIGHUP)  # nohup: the process is meant to outlive the terminal
    # Until it runs, a signal ends the process: no work has begun, and a start may be interrupted anywhere, as by a power cut.
    beginning: dict[Signals, Callable[[], None]] = {
        number: partial(os._exit, 128 + number) for number in signals
    }
    again = threading.Event()  # a SIGHUP came while no App ran that could read the configuration
    if mode != "foreground":
        beginning[SIGHUP] = again.set
    actions = dict(beginning)
    config: Config | None = None
    before: App | None = None
    # From before the configuration is read until everything is closed: a second Ctrl-C must not interrupt the closing.
    with handle_signals(actions, ending=True), closing(Editors(SystemClock())) as editors:
        set_level = _choose_log(mode, quiet, places.state_dir / "tacitd.log")

        def end_by(end: Callable[[], None]) -> None:
            actions.update(dict.fromkeys((SIGTERM, SIGINT), end))

        while before is None or config is not None:
            actions.update(beginning)
            build = partial(build_app, places, os.environ, config=config, editors=editors)
            app = open_when_possible(build, places, notifier, on_wait=end_by)
            if app is None:
                return 0
            set_level(app.config.log.level)
            with closing(app):
                life = Supervision(app, notifier)
                hup = life.request_stop if mode == "foreground" else life.reload_or_keep
                reactions = {SIGTERM: life.request_stop, SIGINT: life.request_stop, SIGHUP: hup}
                actions.update({number: reactions[number] for number in signals})
                try:
                    # Last: a client that receives an answer may send a signal at once.
                    app.listen(Server(places.socket, build_methods(app)))
                    life.announce_ready()
                except TacitdError as error:
                    logger.error("the daemon cannot start: {}", error)
                    if mode != "detached":
                        return error.code
                    raise  # the parent process reads stderr, to which a detached daemon does not log
                if before is not None:
                    before.replaced.set()
                elif mode == "foreground" and not quiet:  # only now: the banner names the socket
                    for text in banner_lines(app):
                        echo_message(text)
                if before is not None and before.asked_to_stop.is_set():
                    life.request_stop()  # after the last look at it
                if again.is_set():
                    again.clear()
                    life.reload_or_keep()
                life.run()
                if mode != "foreground":
                    actions[SIGHUP] = again.set
            # Only now: a signal, or a call, may have come while it was closed.
            config = None if app.asked_to_stop.is_set() else app.reloaded
            before = app
    return 0


def _choose_log(mode: Mode, quiet: bool, file: Path) -> Callable[[str], None]:
    """Return the function that begins to log at a level: to the journal, or to the log file."""
    from tacitd.logging_setup import to_file, to_journal, to_stderr

    journal = mode == "service" and "NOTIFY_SOCKET" in os.environ

    def begin(level: str) -> None:
        if journal:
            to_journal(level)
            return
        with suppress(OSError):  # the daemon runs on with a full disk
            to_file(file, level)
        if mode == "foreground":
            to_stderr("WARNING" if quiet else level)

    return begin
