"""`tacitd run`: the daemon in the foreground, under a service manager, detached, or once."""

from __future__ import annotations

import faulthandler
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from signal import SIG_IGN, SIGHUP, SIGINT, SIGTERM, Signals, getsignal
from typing import Literal

import click
from loguru import logger

from tacitd import __version__
from tacitd.app import App
from tacitd.cli.common import CallMethod, echo_message, get_paths
from tacitd.cli.status_command import parked_lines
from tacitd.clock import SystemClock
from tacitd.config.durations import format_duration
from tacitd.config.settings import Config
from tacitd.contract import Task
from tacitd.errors import PARKED, UNAVAILABLE, TacitdError, UnavailableError
from tacitd.events import NoProject
from tacitd.files.editors import Editors
from tacitd.files.stalls import Stalls
from tacitd.handler import load_hook
from tacitd.logging_setup import to_file, to_journal, to_stderr
from tacitd.methods import build_methods
from tacitd.plugin import PluginSpec
from tacitd.service.detach import run_detached
from tacitd.service.supervision import (
    Notifier,
    Supervision,
    handle_signals,
    limit_end,
    limit_heap,
    make_server,
    open_when_possible,
)
from tacitd.session_context.plugin_view import ask_each
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.work.activities import activity_line, find_newest, list_since
from tacitd.work.work_status import describe_waiting

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
@click.option("--detached", is_flag=True, hidden=True)
@click.pass_context
def run(ctx: click.Context, once: bool, quiet: bool, service: bool, detached: bool) -> None:
    """Watch the transcripts that Claude Code writes, and learn from them.

    It prints what it watches, what it may cost and what is missing. It ends with Ctrl-C, SIGTERM or `tacitd stop`.
    Transcripts that exist at the very first start are taken as read: they cost nothing unless you run `tacitd scan`.
    """
    if detached:
        ctx.exit(run_detached(get_paths().state_dir, partial(_run_until_stopped, "detached", quiet=True)))
    ctx.exit(_run_once(quiet) if once else _run_until_stopped("service" if service else "foreground", quiet))


def _run_once(quiet: bool) -> int:
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


def _run_until_stopped(mode: Mode, quiet: bool) -> int:
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
    clock, stop = SystemClock(), threading.Event()

    def end_wait() -> None:
        limit_end()
        stop.set()

    # From before the configuration is read until everything is closed: a second Ctrl-C must not interrupt the closing.
    with handle_signals(actions, ending=True), closing(Editors(clock, stalls=Stalls(clock))) as editors:
        while before is None or config is not None:
            actions.update(beginning)
            await_store = partial(actions.update, dict.fromkeys((SIGTERM, SIGINT), end_wait))
            lock = before.lock if before is not None else None
            build = partial(App, places, os.environ, config=config, editors=editors, lock=lock)
            app = open_when_possible(build, places, notifier, stop, await_store)
            if app is None:
                return 0
            _begin_log(mode, quiet, places.state_dir / "tacitd.log", app.config.log.level)
            with closing(app):
                life = Supervision(app, notifier)
                hup = life.request_stop if mode == "foreground" else life.reload_or_keep
                reactions = {SIGTERM: life.request_stop, SIGINT: life.request_stop, SIGHUP: hup}
                actions.update({number: reactions[number] for number in signals})
                try:
                    # Last: a client that receives an answer may send a signal at once.
                    app.listen(make_server(places, build_methods(app)))
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
                if stop.is_set() or (before is not None and before.asked_to_stop.is_set()):
                    life.request_stop()  # after the last look at them
                if again.is_set():
                    again.clear()
                    life.reload_or_keep()
                life.run()
                if mode != "foreground":
                    actions[SIGHUP] = again.set
            # Only now: a signal, or a call, may have come while it was closed.
            config = None if app.asked_to_stop.is_set() else app.reloaded
            before = app
    if before.engine.runner.running:
        # Python would wait for their threads, of which one may hang in the file system of its project. Nothing of them is committed.
        logger.complete()
        sys.stdout.flush()
        os._exit(UNAVAILABLE if before.is_displaced else 0)
    return UNAVAILABLE if before.is_displaced else 0  # a service manager tries again


def _begin_log(mode: Mode, quiet: bool, file: Path, level: str) -> None:
    if mode == "service" and "NOTIFY_SOCKET" in os.environ:
        to_journal(level)
        return
    with suppress(OSError):  # the daemon runs on with a full disk
        to_file(file, level)
    if mode == "foreground":
        to_stderr("WARNING" if quiet else level)


# --- an engine in this process, for commands without a running daemon and for `run --once`


@contextmanager
def run_in_process(places: Paths) -> Iterator[CallMethod]:
    """Take the lock, run the engine in a thread and yield a `CallMethod` on it. Raises what `App` raises."""
    with open_app(places) as app:
        table = build_methods(app)
        yield lambda method, /, **params: table[method](params)


@contextmanager
def open_app(places: Paths) -> Iterator[App]:
    """Take the lock, run the engine in a thread, yield its App. A signal stops the engine as it stops a daemon: no child of the model
    outlives it. Raises InterruptedByError, what `App` raises."""
    app = App(places, os.environ, watcher_for=SilentWatcher)
    to_file(places.state_dir / "tacitd.log", app.config.log.level)
    asked: list[Signals] = []

    def leave(signal: Signals) -> None:
        if not asked:
            echo_message("stopping; a running call has some seconds to end")
        asked.append(signal)
        app.request_stop()

    actions = {one: partial(leave, one) for one in (SIGTERM, SIGINT, SIGHUP)}
    is_main = threading.current_thread() is threading.main_thread()
    try:
        # In this order: a second signal must not interrupt the closing.
        with handle_signals(actions) if is_main else nullcontext(), app:
            thread = threading.Thread(target=app.run, name="tacitd-engine")
            thread.start()
            try:
                yield app
            finally:
                app.request_stop()
                thread.join()
    except UnavailableError:
        if not asked:
            raise
    if asked:
        raise InterruptedByError(asked[0])


class InterruptedByError(TacitdError):
    """A signal ended the command early. The exit code is 128 + the signal's number, as in a shell."""

    def __init__(self, signal: Signals) -> None:
        super().__init__(f"ended by {signal.name}; no work is lost", "run the same command again to continue")
        self.code = 128 + signal


# --- the banner


NO_TASK = Task(0, "job", "", NoProject("", "it is for no project"), None)


def banner_lines(app: App) -> Iterator[str]:
    budget = app.config.budget
    stamps = app.engine.follower.stamps
    roots = ", ".join(map(str, app.engine.source.roots))
    yield f"tacitd {__version__} watches {roots} ({len(stamps)} transcripts)"
    if app.engine.first_start.is_now:
        yield "first start: earlier prompts are not read; `tacitd scan --since 30d` reads them, after naming the cost"
    yield (
        f"it may cost at most ${budget.usd_per_day:.2f} a day, ${budget.usd_per_month:.2f} a month and "
        f"{budget.calls_per_day} calls a day"
    )
    yield (
        f"learned lines are written {format_duration(app.config.session.idle)} after a session goes idle, or 2 min after "
        f"its client has ended"
    )
    running = [one for one in app.found.plugins if one.name in app.plugins.by_name]
    yield from (text for _, text in ask_each(running, partial(_list_plugin_lines, app), logger.warning))
    document = app.read_status()
    for text in describe_waiting(document["waits"], document["sessions"]):
        yield f"waits: {text}"
    yield f"state: {app.paths.state_dir}; socket: {app.paths.socket}"
    missing = {one["id"]: (one["what"], one["hint"]) for one in document["degraded"]}
    if app.engine.first_start.is_now:
        from tacitd.service.doctor import examine_client

        found = examine_client(app.paths, app.config, app.environ)
        missing = {one.id: (one.what, one.hint) for one in found} | missing
    for what, hint in missing.values():
        yield f"missing: {what}"
        if hint:
            yield f"  hint: {hint}"
    yield "Press Ctrl-C to stop; no work is lost"


def _list_plugin_lines(app: App, spec: PluginSpec) -> Iterable[str]:
    hook = spec.prompt_parts.get("banner")
    return load_hook(hook)(app.plugins.by_name[spec.name].make_tools(NO_TASK)) if hook else ()
