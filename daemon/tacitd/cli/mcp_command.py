"""`tacitd mcp`: the MCP server, and its entry in the client.

Without a subcommand it serves standard input and output, as a client starts it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_message, get_paths
from tacitd.cli.program import OrderedGroup, load_command
from tacitd.errors import TacitdError, UnavailableError, UsageError, describe_plugin_error

if TYPE_CHECKING:
    from tacitd.mcp.agent_tools import AgentInterface, AgentResource
    from tacitd.mcp.mcp_server import Offer
    from tacitd.mcp.tool_runner import BoundTool
    from tacitd.service.mcp_installation import McpInstaller
    from tacitd.state.paths import Paths


@click.group(
    "mcp",
    cls=OrderedGroup,
    invoke_without_command=True,
    epilog="\b\nExample: tacitd mcp install\nExample: claude mcp list",
)
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """Tools for agents: what tacitd knows and can remember, over the Model Context Protocol.

    Without a subcommand it is the server, on standard input and output, for the client that starts it.
    """
    if ctx.invoked_subcommand is None:
        if sys.stdin.isatty():
            raise UsageError("a client starts the server", "`tacitd mcp install` adds it to Claude Code")
        serve_client()


@mcp.command(epilog="\b\nExample: tacitd mcp install")
def install() -> None:
    """Add the server to Claude Code, for all projects, by its own `claude mcp add-json`."""
    from tacitd.cli.hooks_command import make_installer as make_hook_installer
    from tacitd.service.hook_installation import refuse_plugin

    _require_sdk()
    paths = get_paths()
    refuse_plugin(make_hook_installer(paths).find_plugin(), "tools")
    added = make_installer(paths).install()
    echo_message(
        "added to Claude Code: new sessions have the tools" if added else "Claude Code has it already"
    )


@mcp.command(epilog="\b\nExample: tacitd mcp uninstall")
def uninstall() -> None:
    """Remove the server from Claude Code."""
    removed = make_installer(get_paths()).remove()
    echo_message("removed from Claude Code" if removed else "Claude Code has no server of tacitd")


def make_installer(paths: Paths) -> McpInstaller:
    """The installer for the client of this environment. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.service.detach import own_command
    from tacitd.service.mcp_installation import McpInstaller, find_client, find_config, run_client
    from tacitd.state.paths import config_file

    command = load_config(config_file(os.environ), os.environ, broken=True).claude.command
    where = find_config(os.environ, paths.config_dir, paths.home)
    return McpInstaller(where, own_command(), os.environ, run_client, find_client(command, os.environ))


def remove_server(paths: Paths) -> Iterator[str]:
    """Remove the server's entry, and yield a line about it, if there is one. One that cannot be removed is named."""
    try:
        if make_installer(paths).remove():
            yield "removed the MCP server from Claude Code"
    except TacitdError as error:
        yield f"kept the MCP server in Claude Code: {error.what}; `claude mcp remove --scope user tacitd` removes it"


def _require_sdk() -> None:
    """Raises UnavailableError if the extra is not installed, or cannot be used."""
    from tacitd.service.mcp_installation import SDK_HINT, find_sdk_fault

    if fault := find_sdk_fault():
        raise UnavailableError(f"the MCP server cannot start: {fault}", SDK_HINT)


def serve_client() -> None:
    """Serve one client until it closes standard input. Raises UnavailableError without the SDK."""
    _require_sdk()
    from tacitd.mcp.mcp_server import serve

    serve(make_offer(), Path.cwd())


def make_offer() -> Offer:
    """Everything that the engine and the plugins offer. What cannot be loaded is named on standard error."""
    from tacitd.mcp.mcp_server import index_offer
    from tacitd.mcp.tool_runner import bind_tool

    tools: list[BoundTool] = []
    resources: list[AgentResource] = []
    for owner, interface in list_interfaces():
        resources += interface.resources
        for tool in interface.tools:
            try:
                tools.append(bind_tool(tool, load_command))
            except Exception as error:  # noqa: BLE001  one plugin's mistake must not take the tools of the others
                echo_message(f"the tool {tool.name} of {owner} is left out: {describe_plugin_error(error)}")
    return index_offer(tools, resources, _read_resource)


def list_interfaces() -> Iterator[tuple[str, AgentInterface]]:
    """What the engine and each plugin offer, by name, in the order of the plugins."""
    from tacitd.handler import load_hook
    from tacitd.mcp.engine_tools import ENGINE
    from tacitd.plugins import find_declarations

    found = find_declarations()
    for one in found.failed:
        echo_message(one.what)
    yield "tacitd", ENGINE
    for plugin in sorted(found.plugins, key=lambda one: (one.order, one.name)):
        if plugin.mcp:
            try:
                yield plugin.name, load_hook(plugin.mcp)
            except Exception as error:  # noqa: BLE001  a third-party package may raise anything when it is imported
                echo_message(f"the tools of {plugin.name} are left out: {describe_plugin_error(error)}")


def _read_resource(resource: AgentResource, cwd: Path, budget: int) -> str:
    from tacitd.handler import load_hook

    return str(load_hook(resource.read)(cwd, budget))
