"""`tacitd plugin`: tacitd inside Claude Code, through the client's own commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, escape_output, get_paths
from tacitd.cli.program import OrderedGroup
from tacitd.errors import FAILED

if TYPE_CHECKING:
    from tacitd.service.client_plugin import RunClient
    from tacitd.state.paths import Paths


@click.group(cls=OrderedGroup, epilog="\b\nExample: tacitd plugin install")
def plugin() -> None:
    """tacitd inside Claude Code: hooks, tools for the agent, slash commands and a skill. Not needed to learn.

    With it lines are written seconds after a session ends, not minutes, and a session starts with what belongs to no file.
    """


@plugin.command(epilog="\b\nExample: tacitd plugin install")
def install() -> None:
    """Put the plugin into Claude Code, or bring it up to date after an update of tacitd.

    Runs `claude plugin marketplace add` and `claude plugin install` on the copy in this installation; no network is needed.
    """
    from tacitd.service.client_plugin import check_plugin, find_marketplace, install_plugin

    paths = get_paths()
    install_plugin(make_client_runner(paths), find_marketplace())
    echo_message("the plugin is in Claude Code: new sessions have it")
    for one in check_plugin(paths, Path.cwd()):
        if one.severity != "ok":
            echo_message(escape_output(f"warning: {one.what}"))
            echo_message(escape_output(f"hint: {one.hint}"))


@plugin.command(epilog="\b\nExample: tacitd plugin status --json")
@click.option("--json", "as_json", is_flag=True, help="As JSON: id, severity, what, hint of each finding.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether sessions that start here have the plugin. Exits with 1 if they do not, or if its hooks do not run."""
    from tacitd.service.client_plugin import check_plugin

    found = list(check_plugin(get_paths(), Path.cwd()))
    if as_json:
        echo_json([one.as_data() for one in found])
    for one in () if as_json else found:
        echo_text(escape_output(one.what))
        if one.hint:
            echo_text(escape_output(f"  hint: {one.hint}"))
    ctx.exit(0 if all(one.severity == "ok" for one in found) else FAILED)


@plugin.command(epilog="\b\nExample: tacitd plugin uninstall")
def uninstall() -> None:
    """Take the plugin out of Claude Code, by `claude plugin uninstall`."""
    from tacitd.service.client_plugin import LEFT, read_state, remove_plugin

    paths = get_paths()
    state = read_state(paths.config_dir, Path.cwd())
    if not state.is_known:
        echo_message("there is no plugin of tacitd in Claude Code")
        return
    remove_plugin(make_client_runner(paths), state)
    echo_message("the plugin is gone from Claude Code")
    echo_message(LEFT)


def make_client_runner(paths: Paths) -> RunClient:
    """What runs the client of this environment. Raises UnavailableError if it is not found."""
    from tacitd.config.settings import load_config
    from tacitd.service.client_plugin import make_runner

    command = load_config(paths.config_file, os.environ, broken=True).claude.command
    return make_runner(command, os.environ)
