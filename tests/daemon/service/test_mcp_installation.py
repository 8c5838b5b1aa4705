"""The server's entry in the client's configuration, with the client's commands played by a function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tacitd.errors import TacitdError, UnavailableError
from tacitd.service.mcp_installation import (
    McpInstaller,
    find_config,
    make_entry,
    read_server_entry,
    run_client,
)

PROGRAM = ["/opt/bin/tacitd"]


class Client:
    """`claude mcp` on a configuration file. `is_old`: a version that drops `alwaysLoad`."""

    def __init__(self, config: Path, *, is_old: bool = False) -> None:
        self.config = config
        self.is_old = is_old
        self.calls: list[list[str]] = []
        self.failure = ""

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        self.calls.append(list(command[2:]))
        if self.failure:
            return 1, f"a warning\n{self.failure}\n"
        document = json.loads(self.config.read_text()) if self.config.exists() else {}
        servers = document.setdefault("mcpServers", {})
        if command[2] == "remove":
            del servers["tacitd"]
        else:
            entry = json.loads(command[-1])
            servers["tacitd"] = {k: v for k, v in entry.items() if not (self.is_old and k == "alwaysLoad")}
        self.config.write_text(json.dumps(document))
        return 0, "done"


def make(
    client: Client, environ: dict[str, str] | None = None, program: Sequence[str] = PROGRAM
) -> McpInstaller:
    return McpInstaller(client.config, program, environ or {}, client.run, Path("/opt/bin/claude"))


@pytest.mark.parametrize("is_old", [False, True])
def test_it_is_added_once_and_removed(tmp_path: Path, is_old: bool) -> None:
    client = Client(tmp_path / ".claude.json", is_old=is_old)
    client.config.write_text(json.dumps({"mcpServers": {"other": {}}, "theme": "dark"}))
    assert make(client).install() and not make(client).install()
    assert [one[0] for one in client.calls] == ["add-json"] and client.calls[0][1:4] == [
        "--scope",
        "user",
        "tacitd",
    ]
    assert make(client).remove() and not make(client).remove()
    assert json.loads(client.config.read_text()) == {"mcpServers": {"other": {}}, "theme": "dark"}


def test_an_entry_of_another_installation_is_replaced(tmp_path: Path) -> None:
    client = Client(tmp_path / ".claude.json")
    make(client).install()
    assert make(client, program=["/new/python", "-m", "tacitd_handlers.entry_point"]).install()
    found = read_server_entry(client.config)
    assert found is not None and found["args"] == ["-m", "tacitd_handlers.entry_point", "mcp"]


def test_the_entry_names_another_state_directory() -> None:
    environ = {"TACITD_STATE_DIR": "/s", "TACITD_SESSION__IDLE": "1h", "HOME": "/h"}
    assert make_entry(PROGRAM, environ) == {
        "type": "stdio",
        "command": "/opt/bin/tacitd",
        "args": ["mcp"],
        "env": {"TACITD_STATE_DIR": "/s"},
        "alwaysLoad": True,
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"mcpServers": 3}', '{"mcpServers": {"tacitd": 3}}', "[" * 100_000]
)
def test_a_configuration_that_is_not_understood_has_no_entry(tmp_path: Path, text: str) -> None:
    """It is the client's to repair; nothing is removed from it."""
    client = Client(tmp_path / ".claude.json")
    client.config.write_text(text)
    assert read_server_entry(client.config) is None and not make(client).remove() and client.calls == []


def test_what_the_client_says_is_the_error(tmp_path: Path) -> None:
    client = Client(tmp_path / ".claude.json")
    client.failure = "error: unknown command 'add-json'"
    with pytest.raises(TacitdError, match="unknown command 'add-json'"):
        make(client).install()


def test_without_the_client_nothing_is_tried(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not found"):
        McpInstaller(tmp_path / "none", PROGRAM, {}, lambda command: (0, ""), None).install()


def test_the_configuration_moves_with_the_clients_directory() -> None:
    environ: dict[str, Any] = {"CLAUDE_CONFIG_DIR": "/c"}
    assert find_config({}, Path("/h/.claude"), Path("/h")) == Path("/h/.claude.json")
    assert find_config(environ, Path("/c"), Path("/h")) == Path("/c/.claude.json")


def test_a_client_runs_without_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "claude"
    script.write_text('#!/bin/sh\necho "$2"\nexit 3\n')
    script.chmod(0o755)
    assert run_client([str(script), "mcp", "$(id); *"]) == (3, "$(id); *\n")
