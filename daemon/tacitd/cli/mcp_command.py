"""`tacitd mcp`: the MCP server, on standard input and output, as a client starts it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_message
from tacitd.cli.program import load_command
from tacitd.errors import UsageError, describe_plugin_error

if TYPE_CHECKING:
    from tacitd.mcp.agent_tools import AgentInterface, AgentResource
    from tacitd.mcp.mcp_server import Offer
    from tacitd.mcp.tools import BoundTool


@click.command(epilog="\b\nExample: claude mcp add --scope user tacitd -- tacitd mcp")
def mcp() -> None:
    """The MCP server, on standard input and output, for the client that starts it.

    It gives agents tools: what tacitd knows and can remember. `tacitd plugin install` brings it into Claude Code.
    """
    if sys.stdin.isatty():
        raise UsageError("a client starts the server", "`tacitd plugin install` brings it into Claude Code")
    from tacitd.mcp.mcp_server import serve

    serve(make_offer(), Path.cwd())


def make_offer() -> Offer:
    """Everything that the engine and the plugins offer. What cannot be loaded is named on standard error."""
    from tacitd.mcp.mcp_server import index_offer
    from tacitd.mcp.tools import bind_tool

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
