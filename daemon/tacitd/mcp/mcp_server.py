"""The MCP server on standard input and output: the official SDK around `tool_runner`.

Only this module imports the SDK, which is an extra (`tacitd[mcp]`) and slow to import. It speaks every version of the
protocol that the SDK knows. A client that goes away ends it: a call that runs is finished first, since the files that
it changes are written in whole steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from tacitd import __version__
from tacitd.mcp.agent_tools import LARGEST_RESULT, AgentResource
from tacitd.mcp.bounded_output import bound_output
from tacitd.mcp.tool_runner import BoundTool, run_tool

SCHEME = "tacitd://"
SHOW_AT_ONCE = "anthropic/alwaysLoad"
"""What Claude Code reads of a tool's `_meta`, if its server's entry is not marked `alwaysLoad` (the plugin's counts as not
marked): the others are left to its tool search. Older versions, and other clients, ignore it."""
INVALID_PARAMS = -32602
INSTRUCTIONS = (
    "tacitd keeps what this person taught their agents: learned rules of each project, their profile, lessons "
    "(WHEN -> DO -> BECAUSE), the state of sessions, a learner's ledger. It learns from what the person types by itself, "
    "so do not store again what they just said. Do store what they ask you to remember. Before work with a tool that can "
    "go wrong, load the lessons of its scope. When something fails, match its error with lessons. Never remove anything "
    "that the person did not ask you to remove."
)


class Offer(Struct, frozen=True):
    """What the server offers: tools by name, resources by name, and how a resource is read."""

    tools: Mapping[str, BoundTool]
    resources: Mapping[str, AgentResource]
    read: Callable[[AgentResource, Path, int], str]


def make_server(offer: Offer, cwd: Path) -> Server[Any]:
    """Return the server, not yet running. `cwd`: the directory of the session."""
    one_at_a_time = anyio.CapacityLimiter(1)  # standard streams belong to the whole process

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[describe_tool(one) for one in offer.tools.values()])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        bound = offer.tools.get(params.name)
        if bound is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:80]!r}")
        said = await anyio.to_thread.run_sync(run_tool, bound, params.arguments or {}, limiter=one_at_a_time)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=said.text)], is_error=said.is_error
        )

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[_describe_resource(one) for one in offer.resources.values()]
        )

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        found = offer.resources.get(str(params.uri).removeprefix(SCHEME).rstrip("/"))
        if found is None:
            raise MCPError(INVALID_PARAMS, f"there is no resource {str(params.uri)[:80]!r}")
        try:
            text = await anyio.to_thread.run_sync(
                offer.read, found, cwd, LARGEST_RESULT, limiter=one_at_a_time
            )
        except Exception as error:
            raise MCPError(-32603, f"{found.name} cannot be read: {error}") from error
        content = types.TextResourceContents(
            uri=f"{SCHEME}{found.name}", mime_type=found.mime_type, text=bound_output(text)
        )
        return types.ReadResourceResult(contents=[content])

    return Server(
        "tacitd",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def describe_tool(bound: BoundTool) -> types.Tool:
    """The tool as the client lists it."""
    tool = bound.tool
    hints = types.ToolAnnotations(
        read_only_hint=tool.effect == "reads",
        destructive_hint=tool.effect == "removes",
        idempotent_hint=tool.effect == "reads",
        open_world_hint=tool.asks_model,
    )
    return types.Tool.model_validate(
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": bound.schema,
            "annotations": hints,
            "_meta": {SHOW_AT_ONCE: not tool.is_rare},
        }
    )


def _describe_resource(one: AgentResource) -> types.Resource:
    return types.Resource(
        uri=f"{SCHEME}{one.name}",
        name=one.name,
        title=one.title,
        description=one.description,
        mime_type=one.mime_type,
    )


def serve(offer: Offer, cwd: Path) -> None:
    """Serve one client until it closes standard input."""
    server = make_server(offer, cwd)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def index_offer(
    tools: Sequence[BoundTool],
    resources: Sequence[AgentResource],
    read: Callable[[AgentResource, Path, int], str],
) -> Offer:
    """The offer with tools and resources by name; of two with one name the first is kept."""
    by_name = {one.tool.name: one for one in reversed(tools)}
    return Offer(
        {one.tool.name: by_name[one.tool.name] for one in tools},
        {one.name: one for one in reversed(resources)},
        read,
    )
