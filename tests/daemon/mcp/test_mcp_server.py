"""The server as a process, through the official SDK's client: lists, calls, a long tool, and what a client may get wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from counting_server import GATE
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from tacitd.mcp.mcp_server import VERSIONS
from tacitd.mcp.tools import SHOW_AT_ONCE

pytestmark = pytest.mark.undated
SERVER = str(Path(__file__).with_name("counting_server.py"))


def with_client(directory: Path, act: Callable[[Client], Awaitable[Any]]) -> Any:
    """Run `act` with a client of a server for this directory."""
    directory.mkdir(exist_ok=True)
    environ = dict(os.environ)
    server = StdioServerParameters(command=sys.executable, args=[SERVER], env=environ, cwd=directory)

    async def run() -> Any:
        with open(os.devnull, "w") as nowhere:
            async with Client(stdio_client(server, errlog=nowhere)) as client:
                return await act(client)

    return anyio.run(run)


def test_tools_are_listed_with_their_hints(tmp_path: Path) -> None:
    """Of two tools with one name the first counts."""
    listed = with_client(tmp_path, lambda client: client.list_tools()).tools
    assert [one.name for one in listed] == ["count_up", "count_rarely", "wait", "list_many"]
    adds, removes = listed[:2]
    assert (adds.annotations.read_only_hint, adds.annotations.destructive_hint) == (False, False)
    assert (removes.annotations.destructive_hint, removes.annotations.open_world_hint) == (True, True)
    assert (adds.meta[SHOW_AT_ONCE], removes.meta[SHOW_AT_ONCE]) == (True, False)
    assert list(removes.input_schema["properties"]) == ["confirm"]


def test_a_call_returns_what_the_command_printed(tmp_path: Path) -> None:
    """What a program prints that the command starts reaches neither the answer nor the client, and it reads nothing of it."""
    answer = with_client(tmp_path, lambda client: client.call_tool("count_up", {"by": 3}))
    assert (answer.is_error, [one.text for one in answer.content]) == (False, ["1 3"])


def test_a_shortened_answer_stays_json(tmp_path: Path) -> None:
    """What was left out, and messages, are texts of their own."""
    answer = with_client(tmp_path, lambda client: client.call_tool("list_many", {}))
    document, note, message = (one.text for one in answer.content)
    assert 100 < len(json.loads(document)) < 1000 and "left out" in note and message == "a message"


def refusal(directory: Path, act: Callable[[Client], Awaitable[Any]]) -> str:
    """The message of the protocol's error that `act` ends with."""

    async def expect_error(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await act(client)
        return error.value.message

    return str(with_client(directory, expect_error))


def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    assert refusal(tmp_path, lambda client: client.call_tool("gone", {})) == "there is no tool 'gone'"


def test_the_tools_are_listed_during_a_long_tool(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / GATE)

    async def call(client: Client) -> str:
        texts: list[str] = []

        async def wait() -> None:
            texts.append((await client.call_tool("wait", {})).content[0].text)  # type: ignore[union-attr]

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await client.list_tools()
            assert texts == []
            await anyio.to_thread.run_sync((tmp_path / GATE).write_text, "open")
        return texts[0]

    assert with_client(tmp_path, call) == "open"


def test_resources_are_read_for_the_sessions_directory(tmp_path: Path) -> None:
    listed = with_client(tmp_path / "app", lambda client: client.list_resources()).resources
    assert [str(one.uri) for one in listed] == ["tacitd://notes"]
    (found,) = with_client(tmp_path / "app", lambda client: client.read_resource("tacitd://notes")).contents
    assert (found.text, found.mime_type) == ("notes in app", "text/markdown")


@pytest.mark.parametrize(
    ("address", "directory", "message"),
    [
        ("tacitd://gone", "app", "there is no resource 'tacitd://gone'"),
        ("file:///etc/passwd", "app", "there is no resource 'file:///etc/passwd'"),
        ("tacitd://notes", "broken", "notes cannot be read: damaged"),
    ],
)
def test_a_resource_that_cannot_be_read_is_an_error(
    tmp_path: Path, address: str, directory: str, message: str
) -> None:
    assert refusal(tmp_path / directory, lambda client: client.read_resource(address)) == message


# --- bytes --------------------------------------------------------------------------------------------------


def talk(directory: Path, *messages: bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """What a server answers to these messages until its input ends."""
    lines = [
        one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages
    ]
    done = subprocess.run(
        [sys.executable, SERVER], input=b"\n".join(lines), cwd=directory, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("version", [*VERSIONS, "2019-01-01", 7, None])
def test_a_version_that_is_known_is_used(tmp_path: Path, version: object) -> None:
    """Of an unknown one the client decides what to do with the newest that the server knows."""
    (answer,) = talk(tmp_path, {"id": 1, "method": "initialize", "params": {"protocolVersion": version}})
    assert answer["result"]["protocolVersion"] == (version if version in VERSIONS else VERSIONS[0])


def test_ping_is_answered_during_a_long_tool_and_a_cancelled_call_does_not_run(tmp_path: Path) -> None:
    """A client ends a server that does not answer. What waits when the input ends is answered."""
    call: dict[str, Any] = {"method": "tools/call", "params": {"name": "count_up"}}
    os.mkfifo(tmp_path / GATE)
    process = subprocess.Popen(
        [sys.executable, SERVER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "tools/call", "params": {"name": "wait"}},
        {"id": 2, **call},
        {"id": 3, **call},
        {"method": "notifications/cancelled", "params": {"requestId": 2}},
        {"id": 4, "method": "ping"},
    ]
    for one in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["id"] == 4
    (tmp_path / GATE).write_text("open")
    out, _ = process.communicate(timeout=60)
    answers = {one["id"]: one["result"]["content"][0]["text"] for one in map(json.loads, out.splitlines())}
    assert answers == {1: "open", 3: "1 1"}


def test_garbage_is_refused_and_the_next_request_answered(tmp_path: Path) -> None:
    answers = talk(
        tmp_path,
        b"not json",
        b"\xff\xfe",
        b"  ",
        b"[]",
        {"id": 1, "method": "no/such"},
        {"id": 2, "method": "tools/call", "params": {"name": "gone"}},
        {"id": 3, "method": "tools/call", "params": {"name": "count_up", "arguments": {"to": 1}}},
        {"id": 4, "method": "tools/call", "params": {"name": 7}},
        {"id": 5, "method": "tools/call", "params": {"name": "count_up", "arguments": [1]}},
        {"id": 6, "method": "tools/call", "params": []},
        {"method": "notifications/initialized"},
        {"id": 7, "method": "ping"},
    )
    by_id = {one["id"]: one for one in answers if one["id"] is not None}
    assert len(answers) == len(by_id) + 3
    assert sorted(id for id, one in by_id.items() if "error" in one) == [1, 2, 4, 5, 6]
    assert by_id[3]["result"]["isError"] and by_id[7]["result"] == {}
