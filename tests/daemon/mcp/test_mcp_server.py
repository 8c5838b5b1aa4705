"""The server through the SDK's own client, in one process: lists, calls, and what a client may get wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from mcp import Client, MCPError

from tacitd.mcp.agent_tools import AgentResource, AgentTool, ToolParameter
from tacitd.mcp.mcp_server import SHOW_AT_ONCE, index_offer, make_server
from tacitd.mcp.tool_runner import bind_tool

COUNT: list[int] = []


@click.command("count")
@click.option("--by", type=int, default=1)
def count(by: int) -> None:
    COUNT.append(by)
    click.echo(f"{len(COUNT)}")


TOOL = AgentTool("count_up", "Count.", ("count",), (ToolParameter("by"),), effect="adds")
RARE = AgentTool("count_rarely", "Count.", ("count",), effect="removes", is_rare=True, asks_model=True)
NOTES = AgentResource("notes", "Notes", "Some notes.", "nowhere:read")


def read(resource: AgentResource, cwd: Path, budget: int) -> str:
    if cwd.name == "broken":
        raise ValueError("damaged")
    return f"{resource.name} in {cwd.name}"


def with_client(act: Callable[[Client], Awaitable[Any]], cwd: str = "app") -> Any:
    """Run `act` with a client of a server for this directory."""
    offer = index_offer(
        [bind_tool(one, lambda name, path: count) for one in (TOOL, RARE, TOOL)], [NOTES], read
    )

    async def run() -> Any:
        async with Client(make_server(offer, Path(cwd))) as client:
            return await act(client)

    COUNT.clear()
    return anyio.run(run)


def test_tools_are_listed_with_their_hints() -> None:
    listed = with_client(lambda client: client.list_tools()).tools
    assert [one.name for one in listed] == ["count_up", "count_rarely"]
    adds, removes = listed
    assert (adds.annotations.read_only_hint, adds.annotations.destructive_hint) == (False, False)
    assert (removes.annotations.destructive_hint, removes.annotations.open_world_hint) == (True, True)
    assert (adds.meta[SHOW_AT_ONCE], removes.meta[SHOW_AT_ONCE]) == (True, False)
    assert list(removes.input_schema["properties"]) == ["confirm"]


def test_a_call_returns_what_the_command_printed() -> None:
    said = with_client(lambda client: client.call_tool("count_up", {"by": 3}))
    assert (said.is_error, said.content[0].text, COUNT) == (False, "1", [3])


@pytest.mark.parametrize("arguments", [{"by": "3"}, {"to": 3}, {"by": [3]}, {"by": None, "x": 1}])
def test_wrong_arguments_are_answered_and_nothing_runs(arguments: dict[str, Any]) -> None:
    said = with_client(lambda client: client.call_tool("count_up", arguments))
    assert said.is_error and COUNT == []


def refusal(act: Callable[[Client], Awaitable[Any]], cwd: str = "app") -> str:
    """The message of the protocol's error that `act` ends with."""

    async def expect_error(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await act(client)
        return error.value.message

    return str(with_client(expect_error, cwd))


def test_an_unknown_tool_is_an_error_of_the_protocol() -> None:
    assert refusal(lambda client: client.call_tool("gone", {})) == "there is no tool 'gone'"


def test_many_calls_at_once_all_count() -> None:
    """They run one after the other, because standard streams belong to the whole process: no answer gets another's output."""

    async def call_often(client: Client) -> list[str]:
        said: list[str] = []

        async def call() -> None:
            said.append((await client.call_tool("count_up", {})).content[0].text)  # type: ignore[union-attr]

        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(call)
        return said

    assert sorted(map(int, with_client(call_often))) == list(range(1, 101))


def test_resources_are_read_for_the_sessions_directory() -> None:
    listed = with_client(lambda client: client.list_resources()).resources
    assert [str(one.uri) for one in listed] == ["tacitd://notes"]
    (found,) = with_client(lambda client: client.read_resource("tacitd://notes")).contents
    assert (found.text, found.mime_type) == ("notes in app", "text/markdown")


@pytest.mark.parametrize(
    ("address", "cwd", "said"),
    [
        ("tacitd://gone", "app", "there is no resource 'tacitd://gone'"),
        ("file:///etc/passwd", "app", "there is no resource 'file:///etc/passwd'"),
        ("tacitd://notes", "broken", "notes cannot be read: damaged"),
    ],
)
def test_a_resource_that_cannot_be_read_is_an_error(address: str, cwd: str, said: str) -> None:
    assert refusal(lambda client: client.read_resource(address), cwd) == said
