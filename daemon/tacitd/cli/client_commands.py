"""`tacitd plugin`, `mcp` and `statusline`: tacitd inside Claude Code."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from tacitd import statusline as statusline_program
from tacitd.cli.common import echo_findings, echo_json, echo_message, get_paths, json_option
from tacitd.cli.program import OrderedGroup, has_data, load_command, load_plugin_table
from tacitd.errors import FAILED, UsageError, describe_plugin_error
from tacitd.handler import load_hook
from tacitd.session_context.plugin_view import ask_each
from tacitd.state.paths import find_current_dir

if TYPE_CHECKING:
    from tacitd.mcp.agent_tools import AgentInterface, AgentResource
    from tacitd.mcp.mcp_server import Offer
    from tacitd.mcp.tools import BoundTool
    from tacitd.plugin import PluginSpec
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
    for one in check_plugin(paths, find_current_dir()):
        if one.severity != "ok":
            echo_message(f"warning: {one.what}", one.hint)


@plugin.command(epilog="\b\nExample: tacitd plugin status --json")
@json_option("As JSON: id, severity, what, hint of each finding.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether sessions that start here have the plugin. Exits with 1 if they do not, or if its hooks do not run."""
    from tacitd.service.client_plugin import check_plugin

    found = list(check_plugin(get_paths(), find_current_dir()))
    echo_findings(found, as_json=as_json)
    ctx.exit(0 if all(one.severity == "ok" for one in found) else FAILED)


@plugin.command(epilog="\b\nExample: tacitd plugin uninstall")
def uninstall() -> None:
    """Take the plugin out of Claude Code, by `claude plugin uninstall`."""
    from tacitd.service.client_plugin import LEFT, read_state, remove_plugin

    paths = get_paths()
    state = read_state(paths.config_dir, find_current_dir())
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


@click.command(epilog="\b\nExample: claude mcp add --scope user tacitd -- tacitd mcp")
def mcp() -> None:
    """The MCP server, on standard input and output, for the client that starts it.

    It gives agents tools: what tacitd knows and can remember. `tacitd plugin install` brings it into Claude Code.
    """
    if sys.stdin.isatty():
        raise UsageError("a client starts the server", "`tacitd plugin install` brings it into Claude Code")
    from tacitd.mcp.mcp_server import serve

    serve(make_offer(), find_current_dir())


def make_offer() -> Offer:
    from tacitd.mcp.mcp_server import Offer
    from tacitd.mcp.tools import bind_tool

    tools: dict[str, BoundTool] = {}  # of two with one name the first is kept
    resources: dict[str, AgentResource] = {}
    interfaces = list(list_interfaces())
    for owner, interface in interfaces:
        resources |= {one.name: one for one in interface.resources if one.name not in resources}
        for tool in interface.tools:
            try:
                tools.setdefault(tool.name, bind_tool(tool, load_command))
            except Exception as error:  # noqa: BLE001  one plugin's mistake must not take the tools of the others
                echo_message(f"the tool {tool.name} of {owner} is left out: {describe_plugin_error(error)}")
    find_empty = partial(_find_empty, load_plugin_table().plugins, interfaces)
    return Offer(tools, resources, lambda one, cwd, budget: str(load_hook(one.read)(cwd, budget)), find_empty)


def _find_empty(plugins: Iterable[PluginSpec], interfaces: Iterable[tuple[str, AgentInterface]]) -> set[str]:
    """The tools and resources that only show or remove data, of plugins that have none."""
    empty = {one.name for one in plugins if not has_data(one)}
    found = [interface for owner, interface in interfaces if owner in empty]
    tools = {tool.name for interface in found for tool in interface.tools if tool.effect != "adds"}
    return tools | {resource.name for interface in found for resource in interface.resources}


def list_interfaces() -> Iterator[tuple[str, AgentInterface]]:
    """What the engine and each plugin offer, by name, in the order of the plugins."""
    from tacitd.mcp.agent_tools import ENGINE

    table = load_plugin_table()
    for what in table.broken:
        echo_message(what)
    yield "tacitd", ENGINE
    found = ask_each(table.plugins, lambda one: [load_hook(one.mcp)] if one.mcp else [], echo_message)
    yield from ((plugin.name, interface) for plugin, interface in found)


@click.command(epilog="\b\nExample: tacitd statusline\nExample: tacitd statusline --setting")
@click.option(
    "--setting", is_flag=True, help="Print the entry for Claude Code's settings.json that runs it fastest."
)
def statusline(setting: bool) -> None:
    """Print one short line for the status bar of Claude Code: learned today, waiting, spend against the limit.

    Reads nothing from standard input, and always exits with 0.
    """
    if setting:
        echo_json({"statusLine": {"type": "command", "command": make_statusline_command()}})
    else:
        statusline_program.print_status_line()


def make_statusline_command() -> str:
    """The interpreter outside the virtual environment runs the module's file by itself."""
    return shlex.join([os.path.realpath(sys.executable), "-I", "-S", statusline_program.__file__])
