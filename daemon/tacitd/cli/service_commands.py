"""The commands `service`, `start`, `restart`, `reload` and `uninstall`. What they do is in `tacitd.service`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import confirm, echo_message, get_paths, read_store
from tacitd.errors import UNAVAILABLE, TacitdError, UnavailableError

NOT_RUNNING = 3
"""The exit code of `service status` for a service that does not run, as that of systemctl."""

if TYPE_CHECKING:
    from tacitd.handler import DoctorFinding, Footprint
    from tacitd.service.managers import Manager, ServiceFacts
    from tacitd.state.paths import Paths


@click.group(epilog="\b\nExample: tacitd service install")
def service() -> None:
    """Run tacitd at every login, under systemd (Linux) or launchd (macOS)."""


@service.command(epilog="\b\nExample: tacitd service install --dry-run")
@click.option("--now/--no-now", default=True, show_default=True, help="Start the service at once.")
@click.option("--dry-run", is_flag=True, help="Print the service's file, and change nothing.")
def install(now: bool, dry_run: bool) -> None:
    """Write the service's file, enable the service and start it. A second time changes only what differs."""
    places = get_paths()
    manager, facts = find_manager_and_facts(places)
    if dry_run:
        click.echo(manager.render_file(facts), nl=False)
        return
    _check_would_run(places, manager, facts, now)
    for text in manager.install(facts, now=now):
        echo_message(text)
    if sys.platform.startswith("linux"):
        echo_message(
            "the service runs while you are logged in; after `loginctl enable-linger` it also runs without a login"
        )


def _check_would_run(places: Paths, manager: Manager, facts: ServiceFacts, now: bool) -> None:
    """Raise a TacitdError for what would make the service fail at once, before anything is written."""
    from tacitd.service.detach import ping_daemon

    manager.require_manager()
    if manager.file.exists() and not _runs_this_daemon(manager, places):
        raise UnavailableError(
            "the service runs the daemon of another account, and each user has one service",
            "`tacitd start` runs a second daemon; to move the service, run `tacitd service uninstall` first",
        )
    _check_configuration(places, facts.environment)
    if now and not manager.file.exists() and (pid := ping_daemon(places.socket)) is not None:
        raise UnavailableError(
            f"a daemon is running already (process {pid})", "run `tacitd stop`, then `tacitd service install`"
        )


def _check_configuration(places: Paths, environ: Mapping[str, str]) -> None:
    """Raise the ConfigError with which a daemon would not start."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins

    found = find_plugins()
    load_config(places.config_file, environ, found.collect_sections(), broken=bool(found.failed))


@service.command(epilog="\b\nExample: tacitd service uninstall")
def uninstall() -> None:
    """Stop the service and remove its file. What was learned stays."""
    for text in _manager(get_paths()).uninstall() or ["there was nothing to remove"]:
        echo_message(text)


@service.command(epilog="\b\nExample: tacitd service status")
@click.pass_context
def status(ctx: click.Context) -> None:
    """Show the service manager's status of the service. Ends with 3 if the service does not run, with 69 if there is none."""
    manager = _manager(get_paths())
    manager.require_manager()
    click.echo(manager.status())
    ctx.exit(UNAVAILABLE if not manager.file.exists() else 0 if manager.is_running() else NOT_RUNNING)


@service.command(epilog='\b\nExample: tacitd service logs --since "1 hour ago"')
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")
@click.option("--since", default="", help='A time as journalctl takes it: "1 hour ago", today. Linux only.')
@click.pass_context
def logs(ctx: click.Context, follow: bool, since: str) -> None:
    """Show the service's log."""
    places = get_paths()
    manager = _manager(places)
    if not manager.file.exists():
        hint = f"a daemon that runs without a service logs to {places.state_dir / 'tacitd.log'}"
        raise UnavailableError("no service is installed", hint)
    ctx.exit(subprocess.run(manager.logs_command(follow, since), check=False).returncode)


@click.command(epilog="\b\nExample: tacitd start")
def start() -> None:
    """Start the service if one is installed, otherwise a daemon in the background, and wait until it answers."""
    from tacitd.service.detach import ping_daemon, spawn_daemon, wait_for_daemon

    places = get_paths()
    if (pid := ping_daemon(places.socket)) is not None:
        echo_message(f"tacitd is already running (process {pid})")
        _echo_problem(places)
        return
    missing = _find_missing(places)
    manager = _manager(places)
    if _runs_this_daemon(manager, places) and not manager.why_unavailable():
        manager.start()
        pid = wait_for_daemon(places.socket)
        echo_message(f"the service is running (process {pid}); `tacitd service logs` shows its log")
    else:
        pid = spawn_daemon(places, os.environ)
        echo_message(f"tacitd is running (process {pid}); its log is {places.state_dir / 'tacitd.log'}")
    _echo_problem(places)
    for one in missing:
        echo_message(f"missing: {one.what}", one.hint)


def _echo_problem(places: Paths) -> None:
    """Print why the running daemon can handle nothing now."""
    from tacitd.control.client import call_daemon

    with suppress(TacitdError):
        if problem := call_daemon(places.socket, "ping", timeout=2.0).get("problem"):
            echo_message(f"nothing can be handled now: {problem['what']}", problem["hint"])


def _find_missing(places: Paths) -> list[DoctorFinding]:
    """What a person is to know at the very first start; nothing at a later one."""
    from tacitd.service.doctor import examine_client, load_or_default
    from tacitd.work.work_status import read_note

    try:
        if read_store(read_note) is not None:
            return []
    except TacitdError:
        return []
    return examine_client(places, load_or_default(places, os.environ), os.environ)


@click.command(epilog="\b\nExample: tacitd restart")
@click.pass_context
def restart(ctx: click.Context) -> None:
    """Stop the daemon and start it again, for instance after an update. An installed service is restarted as such. With a wrong
    configuration it goes on as it is."""
    from tacitd.cli.control_commands import stop

    places = get_paths()
    manager = _manager(places)
    is_service = _runs_this_daemon(manager, places) and not manager.why_unavailable()
    _check_configuration(places, manager.read_environment() if is_service else os.environ)
    if is_service:
        manager.restart()
        echo_message("restarted")
        return
    ctx.invoke(stop)
    ctx.invoke(start)


@click.command(epilog="\b\nExample: tacitd config check && tacitd reload")
def reload() -> None:
    """Reload the daemon's configuration. If the new one is wrong, the old one stays in force."""
    from tacitd.cli.status_command import call_running_daemon

    said = call_running_daemon(get_paths(), "reload", timeout=30.0)
    echo_message("changed: " + (", ".join(said["changed"]) or "nothing"))


@click.command(epilog="\b\nExample: tacitd uninstall --purge")
@click.option("--purge", is_flag=True, help="Also remove positions, budget, history, log, locks and marks.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def uninstall_all(purge: bool, yes: bool) -> None:
    """Remove service, daemon, socket and plugin; with --purge also everything that only tacitd needs.

    What was learned stays, and is named.
    """
    from tacitd.handler import Footprint
    from tacitd.plugins import collect_footprints, find_plugins
    from tacitd.service.uninstall import describe_removal, uninstall_daemon
    from tacitd.state.paths import report_file

    if purge and not yes:
        confirm("Remove positions, budget and history for good?")
    places = get_paths()
    manager = _manager(places)
    _remove_plugin(places)

    def footprints() -> dict[str, Footprint]:
        report = report_file(os.environ)
        engine = Footprint(removed=[report], places=[report.parent], own=[report.parent])
        return collect_footprints(find_plugins().plugins, os.environ) | {"": engine}

    installed = manager if _runs_this_daemon(manager, places) else None
    for text in uninstall_daemon(places, installed, purge=purge, footprints=footprints):
        echo_message(text)
    echo_message(describe_removal())


def _remove_plugin(places: Paths) -> None:
    """Take the plugin out of the client; one that cannot be taken out is named, and does nothing any more."""
    from tacitd.cli.client_commands import make_client_runner
    from tacitd.service.client_plugin import LEFT, read_state, remove_plugin
    from tacitd.state.paths import find_current_dir

    state = read_state(places.config_dir, find_current_dir())
    try:
        if state.is_known and remove_plugin(make_client_runner(places), state):
            echo_message("removed the plugin from Claude Code")
            echo_message(LEFT)
    except TacitdError as error:
        cure = "`claude plugin uninstall tacitd@tacitd` removes it"
        echo_message(f"kept the plugin in Claude Code: {error.what}; {cure}")


def _manager(places: Paths) -> Manager:
    from tacitd.service.managers import find_manager

    return find_manager(os.environ, places.home, places.state_dir / "tacitd.log")


def find_manager_and_facts(places: Paths) -> tuple[Manager, ServiceFacts]:
    """This system's service manager and the facts for it. Raises UnavailableError if there is none."""
    from tacitd.model.environment import account_environment, find_command
    from tacitd.service.detach import own_command
    from tacitd.service.managers import collect_facts

    claude = find_command(os.environ.get("TACITD_CLAUDE__COMMAND", "claude"), os.environ)
    account, log = account_environment(os.environ), places.state_dir / "tacitd.log"
    return _manager(places), collect_facts(tuple(own_command()), os.environ, account, claude, log)


def _runs_this_daemon(manager: Manager, places: Paths) -> bool:
    """Whether a service is installed and is of this account: there is one for each user, and the daemon of a second account runs
    beside it, with another directory of the client and another state directory."""
    from tacitd.state.paths import config_dir, state_dir

    if not manager.file.exists():
        return False
    environ = {"HOME": str(places.home), **manager.read_environment()}
    is_same = config_dir(environ).resolve() == places.config_dir.resolve()
    return is_same or state_dir(environ).resolve() == places.state_dir.resolve()
