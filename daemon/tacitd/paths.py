"""Where everything is: Claude Code's directory, tacitd's state, configuration and socket.

Only paths are made here, no files. The command line imports this for its fastest commands, so nothing heavy is
imported: no pydantic, and platformdirs only where it is asked.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tacitd.errors import ConfigError

SNAPSHOT = "status.json"
"""In the state directory: the last status document, for when no daemon runs."""
SOCKET_FILE = "socket"
"""In the state directory: the path on which the running daemon answers."""
LONGEST = 100
"""Bytes of a socket's path that are safe everywhere: Linux takes 107, macOS 103."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Every place that tacitd starts from, all absolute."""

    home: Path
    config_dir: Path
    """Claude Code's: `~/.claude`."""
    state_dir: Path
    config_file: Path
    """tacitd's own, optional: `config.toml`."""
    socket: Path

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Paths:
        """Given an environment, return all places. Raises ConfigError for a socket's path that cannot be used.

        Trigger: nobody answers where this environment says, and a daemon wrote down where it does. Why: cron, sudo and
        ssh have another XDG_RUNTIME_DIR than a login. Outcome: its own word counts.
        """
        socket, state = socket_path(env), state_dir(env)
        if not socket.exists() and _named(env, "TACITD_SOCKET") is None:
            socket = _said(state / SOCKET_FILE) or socket
        return cls(home(env), config_dir(env), state, config_file(env), socket)


def _said(file: Path) -> Path | None:
    try:
        said = Path(file.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
    return said if said.is_absolute() and said.is_socket() else None


def home(env: Mapping[str, str]) -> Path:
    """The person's home: HOME, else what the system has for this user."""
    named = env.get("HOME", "")
    return Path(named if named.startswith("/") else pwd.getpwuid(os.getuid()).pw_dir)


def config_dir(env: Mapping[str, str]) -> Path:
    """Claude Code's directory: CLAUDE_CONFIG_DIR, else `~/.claude`."""
    return _named(env, "CLAUDE_CONFIG_DIR") or home(env) / ".claude"


def state_dir(env: Mapping[str, str]) -> Path:
    """Positions, budget, history, dead letters: TACITD_STATE_DIR, else `~/.local/state/tacitd` (platformdirs)."""
    return _named(env, "TACITD_STATE_DIR") or _platform(
        env, "XDG_STATE_HOME", ".local/state", _platform_state
    )


def config_file(env: Mapping[str, str]) -> Path:
    """tacitd's configuration: TACITD_CONFIG, else `~/.config/tacitd/config.toml` (platformdirs)."""
    named = _named(env, "TACITD_CONFIG")
    return named or _platform(env, "XDG_CONFIG_HOME", ".config", _platform_config) / "config.toml"


def find_file_in_the_way(directory: Path) -> Path | None:
    """Given where a directory belongs, return the file that is there, or in place of one of its parents."""
    nearest = next((path for path in (directory, *directory.parents) if os.access(path, os.F_OK)), directory)
    return nearest if nearest.is_file() else None


def socket_path(env: Mapping[str, str]) -> Path:
    """Where the daemon with this state directory answers.

    TACITD_SOCKET, else `$XDG_RUNTIME_DIR/tacitd/tacitd.sock` where that directory is ours, else in the state
    directory. A state directory that was named gives the socket a name of its own, so that two daemons never
    share one. A path of more than 100 bytes becomes a short one in `/tmp/tacitd-<uid>`.

    Raises ConfigError where TACITD_SOCKET is too long, or somebody else holds the short directory.
    """
    named = _named(env, "TACITD_SOCKET")
    if named is not None:
        return _fitting(named)
    state = state_dir(env)
    digest = hashlib.sha256(os.fsencode(os.path.realpath(state))).hexdigest()[:16]
    name = f"{digest}.sock" if env.get("TACITD_STATE_DIR") else "tacitd.sock"
    runtime = env.get("XDG_RUNTIME_DIR", "")
    found = Path(runtime, "tacitd", name) if _is_ours(runtime) else state / "tacitd.sock"
    return found if len(os.fsencode(found)) <= LONGEST else _short_directory() / f"{digest}.sock"


def _named(env: Mapping[str, str], variable: str) -> Path | None:
    """A path from the environment, absolute, `~` taken for the home; None where it is unset or empty."""
    text = env.get(variable, "")
    if not text:
        return None
    whole = os.fspath(home(env)) + text[1:] if text == "~" or text.startswith("~/") else text
    return Path(os.path.abspath(whole))  # noqa: PTH100 - links stay as they are: it may not exist yet


def _platform(env: Mapping[str, str], variable: str, unix: str, other: Callable[[], Path]) -> Path:
    """One of the system's directories for tacitd. `env` counts, also where it is not this process's own."""
    base = env.get(variable, "")
    if base.startswith("/"):
        return Path(base, "tacitd")
    if sys.platform.startswith("linux"):
        return home(env) / unix / "tacitd"
    found = other()
    return home(env) / found.relative_to(Path.home()) if found.is_relative_to(Path.home()) else found


def _platform_state() -> Path:
    import platformdirs

    return platformdirs.user_state_path("tacitd", appauthor=False)


def _platform_config() -> Path:
    import platformdirs

    return platformdirs.user_config_path("tacitd", appauthor=False)


def _is_ours(text: str) -> bool:
    """Whether this is the absolute path of a directory that belongs to us."""
    try:
        status = os.stat(text) if text.startswith("/") else None  # noqa: PTH116
    except OSError:
        return False
    return status is not None and stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _short_directory(parent: Path = Path("/tmp")) -> Path:
    """`/tmp/tacitd-<uid>`, which may not exist yet. Raises ConfigError where it is not safely ours."""
    directory = parent / f"tacitd-{os.getuid()}"
    try:
        status = directory.lstat()
    except FileNotFoundError:
        return directory
    private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o077 == 0
    if private and status.st_uid == os.getuid():
        return directory
    raise ConfigError(f"{directory} is not a private directory of yours", "Remove it, or set TACITD_SOCKET.")


def _fitting(path: Path) -> Path:
    if len(os.fsencode(path)) <= LONGEST:
        return path
    raise ConfigError(f"TACITD_SOCKET is longer than {LONGEST} bytes: {path}", "Name a shorter path.")
