"""`tacitd hooks`: optional hooks in Claude Code that tell the daemon at once what happens in a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_json, echo_message, escape_output, get_paths, resolve_directory
from tacitd.cli.program import OrderedGroup
from tacitd.errors import FAILED, UnavailableError

if TYPE_CHECKING:
    from tacitd.service.hook_installation import HookInstaller, HooksReport
    from tacitd.state.paths import Paths

FOR_PROJECT = click.option(
    "--project",
    is_flag=True,
    help="In your own settings of this project (.claude/settings.local.json), not in those of all projects.",
)


@click.group(cls=OrderedGroup, epilog="\b\nExample: tacitd hooks install")
def hooks() -> None:
    """Hooks in Claude Code: not needed, but with them lines are written seconds after a session ends, not minutes."""


@hooks.command(epilog="\b\nExample: tacitd hooks install")
@FOR_PROJECT
def install(project: bool) -> None:
    """Add the hooks to Claude Code's settings. Nothing else in the file changes, and a copy of it is kept.

    Each hook runs a small program for some milliseconds. It sends nothing off this machine. At a session's start it prints what
    `tacitd context` shows.
    """
    paths = get_paths()
    report = make_installer(paths).install(_find_project(project), _list_versions(paths))
    where = escape_output(str(report.settings))
    if not report.changed:
        echo_message(f"the hooks are in {where} already")
        return
    echo_message(f"added {', '.join(entry.event for entry in report.entries)} to {where}")
    if report.backup is not None:
        echo_message(f"the file as it was: {report.backup}")
    _warn_of_other_daemon(paths)


@hooks.command(epilog="\b\nExample: tacitd hooks uninstall")
@FOR_PROJECT
def uninstall(project: bool) -> None:
    """Remove exactly the hooks that tacitd added, also those of an older version."""
    report = make_installer(get_paths()).remove(_find_project(project))
    where = escape_output(str(report.settings))
    echo_message(f"removed from {where}" if report.changed else f"there are no hooks of tacitd in {where}")


@hooks.command(epilog="\b\nExample: tacitd hooks status --json")
@FOR_PROJECT
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="As JSON: the file, the events, whether they are up to date, and whether the plugin is enabled.",
)
@click.pass_context
def status(ctx: click.Context, project: bool, as_json: bool) -> None:
    """Show which hooks are installed. Exits with 1 if they do not run the installed program, or stop a client from reading
    its settings."""
    paths = get_paths()
    installer, where = make_installer(paths), _find_project(project)
    report, plugin = installer.inspect(where, _list_versions(paths)), installer.find_plugin(where)
    if as_json:
        events = [entry.event for entry in report.entries]
        document = {"settings": str(report.settings), "events": events, "stale": report.stale}
        document |= {"plugin": plugin is not None}
        echo_json(document | {"possible": list(report.possible), "harmful": list(report.harmful)})
    else:
        _echo_report(report, plugin)
    ctx.exit(FAILED if report.stale or report.harmful else 0)


def _echo_report(report: HooksReport, plugin: Path | None) -> None:
    click.echo(escape_output(str(report.settings)))
    for entry in report.entries:
        click.echo(f"  {entry.event}")
    if plugin is not None and report.entries:
        echo_message(
            "the plugin is enabled too, and does nothing: `tacitd hooks uninstall` leaves it to the plugin"
        )
    elif plugin is not None:
        echo_message(f"the plugin, which {escape_output(str(plugin))} enables, brings the hooks")
    elif not report.entries:
        echo_message("no hooks of tacitd; `tacitd hooks install` adds them")
    elif report.stale:
        echo_message("they run another program than the installed one: `tacitd hooks install` mends that")
    if report.harmful:
        what = ", ".join(report.harmful)
        echo_message(
            f"a client that was used here does not know {what} and may ignore the whole file: `tacitd hooks install` mends that"
        )
    elif report.possible:
        echo_message(
            f"the clients in use could also have {', '.join(report.possible)}: `tacitd hooks install` adds them"
        )


def _list_versions(paths: Paths) -> list[str]:
    """The versions of the clients that were used here within 30 days."""
    import time

    from tacitd.sources.registry import make_source

    return [use.version for use in make_source(paths.config_dir).list_clients(time.time() - 30 * 86_400.0)]


def _warn_of_other_daemon(paths: Paths) -> None:
    """Trigger: the daemon watches another directory of the client's, of another account. Outcome: it ignores these hooks."""
    from tacitd.control.client import call_daemon

    try:
        watched = call_daemon(paths.socket, "status", timeout=5.0)["watching"]["root"]
    except (UnavailableError, KeyError, TypeError):
        return
    if watched != str(paths.config_dir):
        echo_message(
            f"warning: the daemon watches {escape_output(watched)} and ignores hooks of {escape_output(str(paths.config_dir))}"
        )
        echo_message(
            "hint: start a second daemon with its own TACITD_STATE_DIR, and install with the same variables"
        )


def _find_project(wanted: bool) -> Path | None:
    if not wanted:
        return None
    from tacitd.files.git import find_project_root

    return find_project_root(resolve_directory(None))


def make_installer(paths: Paths) -> HookInstaller:
    """The installer for the client of this environment. Raises UnavailableError if its client has no hooks."""
    from tacitd.clock import SystemClock
    from tacitd.service.hook_installation import HookInstaller
    from tacitd.sources.registry import make_source

    source = make_source(paths.config_dir)
    if source.hooks is None:
        raise UnavailableError(f"{source.name} has no hooks", "none are needed: tacitd reads the transcripts")
    return HookInstaller(source.hooks, paths, SystemClock())
