"""`tacitd mcp` as a process of its own, through the SDK's client and as bytes: a thousand calls, garbage, a client that dies."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from support_daemon import PROGRAM, Daemon, MakeDaemon, until
from support_waiting import PATIENCE

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
CALLS = 1000
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}


def read_changelog(daemon: Daemon) -> list[dict[str, Any]]:
    path = daemon.home / ".claude/user-memory/changelog.jsonl"
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def start_server(daemon: Daemon) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PROGRAM, "mcp"],
        env=daemon.environ,
        cwd=daemon.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def make_call(number: int, name: str, **arguments: object) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def write_lines(process: subprocess.Popen[bytes], *messages: object) -> None:
    assert process.stdin is not None
    for one in messages:
        process.stdin.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
    process.stdin.flush()


def read_answers(process: subprocess.Popen[bytes], count: int) -> dict[int, dict[str, Any]]:
    """The next answers by the number of their request."""
    assert process.stdout is not None
    answers = [json.loads(process.stdout.readline()) for _ in range(count)]
    return {one["id"]: one for one in answers}


def test_a_thousand_calls_at_once(make: MakeDaemon) -> None:
    """The SDK's client: every call is answered, every value that was written is there, each with its entry."""
    daemon = make()
    server = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "mcp"], env=daemon.environ, cwd=daemon.project
    )

    async def call_often() -> list[bool]:
        failed: list[bool] = []

        async def call(client: Client, number: int) -> None:
            given = {"path": "custom.numbers", "value": f"n{number}"}
            name = "remember_preference" if number < 20 else "get_profile"
            failed.append((await client.call_tool(name, given if number < 20 else {})).is_error)

        async with Client(stdio_client(server)) as client, anyio.create_task_group() as group:
            for number in range(CALLS):
                group.start_soon(call, client, number)
        return failed

    assert anyio.run(call_often) == [False] * CALLS
    profile = json.loads((daemon.home / ".claude/user-memory/profile.json").read_text())
    assert sorted(profile["custom"]["numbers"]) == sorted(f"n{number}" for number in range(20))
    assert [one["source"] for one in read_changelog(daemon)] == ["mcp/tool"] * 20


def test_garbage_is_survived(make: MakeDaemon) -> None:
    """What is no message is left unanswered or refused, and the next call is answered."""
    daemon = make()
    with start_server(daemon) as process:
        write_lines(process, HELLO)
        assert read_answers(process, 1)[0]["result"]["serverInfo"]["name"] == "tacitd"
        write_lines(
            process,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            b"not json\n",
            b"\xff\xfe\n",
            b"\n",
            b"[]\n",
            {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
            make_call(2, "no_such_tool"),
            make_call(3, "get_profile", of="someone"),
            {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": 7}},
            make_call(5, "get_profile"),
        )
        answers = read_answers(process, 5)
        assert [number for number, one in sorted(answers.items()) if "error" in one] == [1, 2, 4]
        assert answers[3]["result"]["isError"] and not answers[5]["result"].get("isError")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def remember_many(daemon: Daemon, process: subprocess.Popen[bytes], written: int) -> None:
    """Begin a session with fifty calls, and wait until more than `written` of them have written their value."""
    write_lines(process, HELLO)
    read_answers(process, 1)
    write_lines(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    calls = (make_call(n, "remember_preference", path="interests", value=f"v{n}") for n in range(50))
    write_lines(process, *calls)
    until(lambda: len(read_changelog(daemon)) > written, PATIENCE, lambda: str(read_changelog(daemon)))


def test_a_client_that_goes_away_in_a_call_leaves_whole_files(make: MakeDaemon) -> None:
    """The call that runs is finished or was not begun; the server ends by itself."""
    daemon = make()
    with start_server(daemon) as process:
        remember_many(daemon, process, 0)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE)
    interests = json.loads((daemon.home / ".claude/user-memory/profile.json").read_text())["interests"]
    assert [one["changes"]["interests"] for one in read_changelog(daemon)] == [[one] for one in interests]


def test_a_killed_server_loses_no_finished_call(make: MakeDaemon) -> None:
    daemon = make()
    with start_server(daemon) as process:
        remember_many(daemon, process, 2)
        process.kill()
    assert daemon.cli("profile", "add", "interests", "after").returncode == 0
    interests = json.loads(daemon.cli("profile", "show", "--json").stdout)["interests"]
    written = [one["changes"]["interests"] for one in read_changelog(daemon)]
    assert written == [[one] for one in interests] and interests[-1] == "after"


def test_a_tool_works_beside_the_daemon(make: MakeDaemon) -> None:
    """The daemon runs: its status is the tool's answer."""
    daemon = make()
    daemon.start()
    with start_server(daemon) as process:
        write_lines(process, HELLO)
        read_answers(process, 1)
        write_lines(
            process, {"jsonrpc": "2.0", "method": "notifications/initialized"}, make_call(1, "get_status")
        )
        answer = read_answers(process, 1)[1]["result"]
        assert not answer.get("isError") and "no daemon runs" not in answer["content"][0]["text"]
        assert process.stdin is not None
        process.stdin.close()
