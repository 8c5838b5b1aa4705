"""The entry of the MCP server in Claude Code: added and removed by the client's own commands, for all projects.

`.claude.json` is written by every running client, so only the client changes it. Versions that know `alwaysLoad` list the
server's tools to the model at once (without it the model has to search for them first); older ones drop the word.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tacitd.errors import TacitdError, UnavailableError, describe_os_error
from tacitd.model.locate import find_command

SERVER = "tacitd"
CONFIG = ".claude.json"
PASSED = ("TACITD_CONFIG", "TACITD_SOCKET", "TACITD_STATE_DIR")
"""Variables that say which tacitd is meant; what is set at the installation is written into the entry."""
SDK = "mcp"
"""The package that the server needs, which the extra of the same name installs."""
SDK_HINT = "in the clone, `uv tool install --force '.[mcp]'`, `pipx install --force '.[mcp]'`, or README's last command"
_SERVER = "tacitd.mcp.mcp_server"
PATIENCE = 60.0
"""Seconds for a command of the client."""
RunClient = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command; returns its exit code and what it printed. Raises OSError."""


def find_sdk_fault() -> str:
    """Why the MCP server cannot start, as a clause; "" if it can. Imports the SDK, which takes about a second."""
    try:
        import_module(_SERVER)
    except (ImportError, AttributeError) as error:  # also of a version that has other names
        return f"the package {SDK} is not installed in {sys.prefix}, or cannot be used: {error}"
    return ""


class McpInstaller:
    """Adds and removes the server of one client."""

    def __init__(
        self,
        config: Path,
        program: Sequence[str],
        environ: Mapping[str, str],
        run: RunClient,
        client: Path | None,
    ) -> None:
        """`config`: the client's `.claude.json`. `program`: what runs tacitd. `client`: the client's program."""
        self._config = config
        self._program = program
        self._environ = environ
        self._run = run
        self._client = client

    def install(self) -> bool:
        """Add the entry, or correct it. Returns False if it is as wanted. Raises UnavailableError, TacitdError."""
        wanted, found = make_entry(self._program, self._environ), read_server_entry(self._config)
        if found is not None:
            if all(found.get(key, value) == value for key, value in wanted.items()):
                return False
            self._call("remove", "--scope", "user", SERVER)
        self._call("add-json", "--scope", "user", SERVER, json.dumps(wanted))
        return True

    def remove(self) -> bool:
        """Remove the entry. Returns False if there is none. Raises UnavailableError, TacitdError."""
        if read_server_entry(self._config) is None:
            return False
        self._call("remove", "--scope", "user", SERVER)
        return True

    def _call(self, *arguments: str) -> None:
        if self._client is None:
            raise UnavailableError(
                "the client `claude` is not found", "install it, or set `claude.command` to its path"
            )
        try:
            code, said = self._run([str(self._client), "mcp", *arguments])
        except OSError as error:
            raise TacitdError(*describe_os_error(error)) from error
        if code != 0:
            last = said.strip().splitlines()[-1:] or [f"it ended with {code}"]
            raise TacitdError(
                f"`claude mcp {arguments[0]}` failed: {last[0]}", f"try `claude mcp {arguments[0]}` by hand"
            )


def read_server_entry(config: Path) -> dict[str, Any] | None:
    """The server's entry in a `.claude.json`; None if there is none, or the file cannot be read."""
    try:
        servers = json.loads(config.read_bytes()).get("mcpServers")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    entry = servers.get(SERVER) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) else None


def make_entry(program: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """The server's entry in the client's configuration."""
    env = {name: environ[name] for name in PASSED if environ.get(name)}
    entry: dict[str, Any] = {"type": "stdio", "command": program[0], "args": [*program[1:], "mcp"]}
    return entry | ({"env": env} if env else {}) | {"alwaysLoad": True}


def find_config(environ: Mapping[str, str], config_dir: Path, home: Path) -> Path:
    """The client's `.claude.json`: in CLAUDE_CONFIG_DIR if that is set, otherwise in the home directory."""
    return (config_dir if environ.get("CLAUDE_CONFIG_DIR") else home) / CONFIG


def find_client(command: str, environ: Mapping[str, str]) -> Path | None:
    """The client's program, given `claude.command`."""
    return find_command(command, environ)


def run_client(command: Sequence[str]) -> tuple[int, str]:
    """Run a command of the client without a shell; see `RunClient`. A minute is its limit."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"it did not end within {PATIENCE:.0f} s"
    return done.returncode, done.stdout
