"""The plugin in Claude Code: put in and taken out by the client's own commands, and what its settings say about it.

The plugin is in the package, in a folder that is also a marketplace (`.claude-plugin/marketplace.json`). Clients from 2.1.331
on read it in place, earlier ones copy it. tacitd writes no file of the client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any

from msgspec import Struct

from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnavailableError
from tacitd.handler import DoctorFinding
from tacitd.model.environment import find_command, with_directory
from tacitd.service.managers import RunTool, run_tool
from tacitd.state.paths import Paths, read_file, read_socket_file
from tacitd.state.socket_file import HOOKS_DIR, SCRIPT

NAME = "tacitd"
"""Of the plugin, and of the marketplace."""
ID = f"{NAME}@{NAME}"
OLDEST = (2, 1, 110)
"""The first client that was seen to go on with an event of hooks that it does not know."""
MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)
"""Settings of an organisation, on Linux and macOS."""
PATIENCE = 120.0
"""Seconds for a command of the client."""
LEFT = "Claude Code keeps its own: empty `enabledPlugins` and `extraKnownMarketplaces` in settings.json, and plugins/"
"""What the client's uninstallation leaves."""
RunClient = RunTool
"""Runs a command of the client, given without the program."""


class PluginState(Struct, frozen=True):
    """What the client's settings say."""

    is_enabled: bool = False
    marketplace: Path | None = None
    """The folder that the plugin is read from; None if it comes from elsewhere, or there is none."""
    is_known: bool = False
    """Whether the marketplace or the plugin is named, also if the plugin is off."""
    disabled_by: Path | None = None
    """The settings file that switches all hooks off."""


def find_marketplace() -> Path:
    """The folder with the plugin: in the package, or the top of a checkout that runs in place."""
    package = Path(__file__).parents[1]
    return next(
        (one for one in (package / "claude_plugin", package.parents[1]) if (one / ".claude-plugin").is_dir()),
        package / "claude_plugin",
    )


def read_state(config_dir: Path, cwd: Path) -> PluginState:
    """What the settings of the person, of an organisation, and of the project in `cwd` say."""
    own = _read_settings(config_dir / "settings.json")
    plugin, market = _dig(own, "enabledPlugins", ID), _dig(own, "extraKnownMarketplaces", NAME)
    path = _dig(market, "source", "path")
    files = [
        config_dir / "settings.json",
        *(cwd / ".claude" / f"settings{part}.json" for part in ("", ".local")),
    ]
    off = (file for file in (*MANAGED, *files) if _read_settings(file).get("disableAllHooks") is True)
    return PluginState(
        plugin is True,
        Path(path) if isinstance(path, str) else None,
        plugin is not None or market is not None,
        next(off, None),
    )


def _read_settings(file: Path) -> dict[str, Any]:
    """The settings in a file; none if it cannot be read."""
    try:
        document = json.loads(read_file(file).removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _dig(value: Any, *keys: str) -> Any:
    """What is below these keys of a document; None if it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def make_runner(command: str, environ: Mapping[str, str]) -> RunClient:
    """What runs the client that `claude.command` names. Raises UnavailableError if it is not found."""
    program = find_command(command, environ)
    if program is None:
        hint = "install Claude Code, or set `claude.command` to its path"
        raise UnavailableError(f"the client `{command}` is not found", hint)
    # A client of npm looks for `node` beside itself.
    env = {**environ, "PATH": with_directory(environ.get("PATH", ""), str(program.parent))}

    return lambda arguments: run_tool([str(program), *arguments], env, seconds=PATIENCE)


def install_plugin(run: RunClient, marketplace: Path) -> None:
    """Put the plugin in, or bring it up to date: doing it again is fine. Raises TacitdError."""
    version = run(["--version"]).out
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise TacitdError(
            f"the plugin needs Claude Code {oldest} or newer, this is {version.strip()}", "`claude update`"
        )
    for arguments in (["marketplace", "add", str(marketplace)], ["install", ID], ["update", ID]):
        _require(run, arguments)


def remove_plugin(run: RunClient, state: PluginState) -> bool:
    """Take the plugin and its marketplace out. Returns whether there was one. Raises TacitdError."""
    if not state.is_known:
        return False
    run(["plugin", "uninstall", ID])  # fails if only the marketplace is left
    _require(run, ["marketplace", "remove", NAME], accepted="not found")
    return True


def _require(run: RunClient, arguments: Sequence[str], accepted: str = "\0") -> None:
    """Raises TacitdError if it fails, unless what it prints contains `accepted`."""
    answer = run(["plugin", *arguments])
    if answer.code != 0 and accepted not in answer.out:
        command = f"`claude plugin {' '.join(arguments)}`"
        last = answer.out.splitlines()[-1:] or [f"it ended with {answer.code}"]
        raise TacitdError(f"{command} failed: {last[0]}", f"try {command} by hand")


def check_plugin(paths: Paths, cwd: Path) -> Iterator[DoctorFinding]:
    """Whether sessions that start in `cwd` have the plugin, and whether its hooks find the daemon."""
    state, here = read_state(paths.config_dir, cwd), find_marketplace()
    install = "`tacitd plugin install`"
    if state.disabled_by is not None:
        what = f"{state.disabled_by} has `disableAllHooks`, so the plugin's hooks do not run"
        hint = "remove it there, if it was not meant for tacitd too"
        yield DoctorFinding("plugin.no-hooks", "warning", what, hint)
    if not state.is_enabled:
        what = (
            "the plugin is not in Claude Code: sessions get no lessons, tools and commands, lines come minutes later, and a work tree that "
            "lives for one session (`claude --worktree`) gets none"
        )
        yield DoctorFinding("plugin.absent", "warning", what, install)
        return
    if state.marketplace is not None and not _is_same(state.marketplace, here):
        what = f"Claude Code reads the plugin from {state.marketplace}, which is not that of this tacitd"
        yield DoctorFinding("plugin.elsewhere", "warning", what, install)
    elif state.disabled_by is None:
        yield DoctorFinding("plugin.installed", "ok", "the plugin is in Claude Code")
    yield from _check_hooks(paths)


def check_server(paths: Paths, cwd: Path, environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Whether the plugin's tools for agents can start: the client looks for the program on PATH."""
    if read_state(paths.config_dir, cwd).is_enabled and which("tacitd", path=environ.get("PATH")) is None:
        what = "the plugin's tools for agents start `tacitd`, and no such program is on PATH"
        hint = "add its directory, such as ~/.local/bin, to your PATH"
        yield DoctorFinding("mcp.path", "warning", what, hint)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and one.resolve() == other.resolve()


def _check_hooks(paths: Paths) -> Iterator[DoctorFinding]:
    """Compare the daemon that answers here with the one that hooks of this environment find, by the state directory alone."""
    try:
        watched = call_daemon(paths.socket, "status", timeout=5.0)["watching"]["root"]
    except (TacitdError, KeyError, TypeError):
        return  # no daemon: `daemon.absent` says so
    named, _ = read_socket_file(paths.state_dir)
    if not (paths.state_dir / HOOKS_DIR / SCRIPT).is_file() or not _is_same(
        Path(named or "/-"), paths.socket
    ):
        what = f"hooks look for the daemon in {paths.state_dir}, and do not find the one that answers on {paths.socket}"
        hint = "`tacitd restart`; where the client starts, TACITD_STATE_DIR must be that of the daemon"
        yield DoctorFinding("plugin.astray", "warning", what, hint)
    elif watched != str(paths.config_dir):
        what = f"the daemon watches {watched}, and ignores hooks of {paths.config_dir}"
        hint = "a second daemon with its own TACITD_STATE_DIR, which must be set where the client starts, too"
        yield DoctorFinding("plugin.other-account", "warning", what, hint)
