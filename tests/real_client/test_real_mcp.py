"""The plugin's MCP server with the real client: it starts the server, lists its tools to the model, and calls them.

Over three versions of the client. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_world import VERSIONS, Machine, Request, open_machine

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]
PREFIX = "mcp__plugin_tacitd_tacitd__"
SET, GET = f"{PREFIX}update_profile", f"{PREFIX}get_profile"
EDITOR = {"tool": SET, "input": {"path": "tools.editor", "value": "neovim"}}
STEPS = [EDITOR, {"tool": GET, "input": {}}, {"text": "remembered"}]
WAIT = "WaitForMcpServers"
"""A tool of 2.1.197 itself, which it offers while a server is still starting. A call waits for some five seconds."""
RULES = [
    {
        "match": f"(?=.*my editor).*{WAIT}",
        "on": "body",
        "steps": [*[{"tool": WAIT, "input": {}}] * 6, *STEPS],
    },
    {"match": "my editor", "steps": STEPS},
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version; no daemon runs."""
    with open_machine(tmp_path, request.param, RULES, starts=False) as one:
        yield one


def ask_client(machine: Machine, prompt: str, *options: str) -> subprocess.CompletedProcess[str]:
    """One prompt with `claude -p`, in the project. It waits for the server, which starts slowly on a busy machine."""
    environ = {k: v for k, v in machine.environ.items() if not k.startswith("TACITD_CLAUDE")}
    environ |= {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000"}
    return machine.run_client(prompt, *options, environ=environ)


def list_tools(request: Request) -> dict[str, dict[str, Any]]:
    """tacitd's tools in a request, by name."""
    tools = request.body.get("tools") or ()
    return {one["name"]: one for one in tools if one["name"].startswith(PREFIX)}


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_the_client_lists_and_calls_the_tools(machine: Machine) -> None:
    """Seed 001, SPEC P-18: a profile that the model updates through MCP is on disk, and the changelog says `mcp/hook`: an agent's."""
    machine.add_plugin()
    # What reads is listed once there is something to read.
    assert machine.cli("profile", "set", "bio", "Builds zebra engines").returncode == 0
    done = ask_client(machine, "my editor is neovim", "--allowedTools", SET, GET, WAIT)
    assert (done.returncode, done.stdout.strip()) == (0, "remembered"), done.stderr
    listed: dict[str, dict[str, Any]] = {}
    for request in machine.asked_by_person():  # some versions also ask without tools, for a title
        listed |= list_tools(request)
    assert {SET, GET} <= set(listed)
    assert all(one["description"] and one["input_schema"]["type"] == "object" for one in listed.values())
    memory = machine.home / ".claude" / "user-memory"
    assert json.loads((memory / "profile.json").read_text())["tools"] == {"editor": "neovim"}
    *_, entry = [json.loads(line) for line in (memory / "changelog.jsonl").read_text().splitlines()]
    assert (entry["action"], entry["source"]) == ("update", "mcp/hook")
    assert entry["changes"] == {"tools": {"editor": "neovim"}}
    assert '\\"editor\\":\\"neovim\\"' in json.dumps(machine.asked_by_person()[-1].body)
