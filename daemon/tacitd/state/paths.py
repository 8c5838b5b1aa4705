"""The paths that tacitd starts from: Claude Code's directory, tacitd's state, configuration and socket.

No file or directory is created here. The fast commands use this module, so it imports nothing heavy: no pydantic, and
platformdirs only if it is needed.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tacitd.errors import ConfigError
from tacitd.text.hashes import sha256

__all__ = ["Paths", "config_dir", "config_file", "data_dir", "find_current_dir", "find_home", "state_dir"]

SOCKET = "tacitd.sock"
SOCKET_FILE = "socket"
"""File in the state directory: the path of the running daemon's socket, and on a second line its process. `kill -9` leaves it behind."""
SHORT = Path("/tmp")
"""Where a socket has a short path on every system."""
LONGEST = 100
"""Maximum bytes of a socket's path: Linux takes 107, macOS 103."""


class Paths(NamedTuple):
    """The paths that tacitd starts from. All are absolute."""

    home: Path
    """The person's home directory."""
    config_dir: Path
    """Claude Code's directory, `~/.claude` by default."""
    state_dir: Path
    """tacitd's state: positions, budget, history."""
    config_file: Path
    """tacitd's `config.toml`, which need not exist."""
    socket: Path
    """The socket on which the daemon answers."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Paths:
        """Given an environment, return all paths. Raises ConfigError if a path cannot be used.

        Where there is no socket, the one counts whose path the daemon wrote to the state directory: its environment has another
        TACITD_SOCKET, or its file system has no sockets. One in a directory that is not this user's alone does not count: somebody
        else may answer there.
        """
        socket, state = socket_path(env), state_dir(env)
        if _named(env, "TACITD_SOCKET") is None:
            if is_foreign(socket.parent):
                socket = state / SOCKET
            if not os.path.exists(socket):  # noqa: PTH110 - another user's: there is none
                named = Path(read_socket_file(state)[0])
                with suppress(OSError):
                    is_usable = named.is_absolute() and named.is_socket() and not is_foreign(named.parent)
                    socket = named if is_usable else socket
        return cls(find_home(env), config_dir(env), state, config_file(env), socket)


def read_socket_file(state: Path) -> tuple[str, str]:
    """The socket's path and the process of the daemon that listened on it last and did not close it; ("", "") if there is none."""
    file = state / SOCKET_FILE
    try:
        if not file.is_file():  # opening a FIFO would wait for whoever writes to it
            return "", ""
        path, _, process = file.read_text(encoding="utf-8").strip().partition("\n")
    except (OSError, UnicodeDecodeError):
        return "", ""
    return path, process


def find_silent_daemon(state: Path) -> int | None:
    """The id of a daemon that runs: the process that holds the lock, which a command may do too, if it has
    listened."""
    from tacitd.files.locks import find_holder

    pid = find_holder(state / "lock")
    return pid if str(pid) == read_socket_file(state)[1] else None


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises OSError, also for a pipe: opening it would wait for whoever writes to it."""
    if stat.S_ISFIFO(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is a pipe, not a file", str(path))
    return path.read_bytes()


def find_home(env: Mapping[str, str]) -> Path:
    """The person's home: HOME if it is absolute, otherwise the home in the user database. Raises ConfigError if there is neither."""
    named = env.get("HOME", "")
    if named.startswith("/"):
        return Path(named)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # an unnamed uid in a container
        raise ConfigError(f"no home directory: user {os.getuid()} is unknown", "set HOME") from None


def find_current_dir() -> Path:
    """The current directory; `/` if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.sep)


def config_dir(env: Mapping[str, str]) -> Path:
    """Claude Code's directory: CLAUDE_CONFIG_DIR, otherwise `~/.claude`."""
    return _named(env, "CLAUDE_CONFIG_DIR") or find_home(env) / ".claude"


def state_dir(env: Mapping[str, str]) -> Path:
    """tacitd's state directory: TACITD_STATE_DIR, otherwise `~/.local/state/tacitd` (platformdirs)."""
    return _named(env, "TACITD_STATE_DIR") or _platform(env, "state", ".local/state")


def config_file(env: Mapping[str, str]) -> Path:
    """tacitd's configuration: TACITD_CONFIG, otherwise `~/.config/tacitd/config.toml` (platformdirs)."""
    named = _named(env, "TACITD_CONFIG")
    return named or _platform(env, "config", ".config") / "config.toml"


def report_file(env: Mapping[str, str]) -> Path:
    """The last page of `tacitd report`, mode 0600: `~/.cache/tacitd/report.html` (platformdirs)."""
    return _platform(env, "cache", ".cache") / "report.html"


def data_dir(env: Mapping[str, str]) -> Path:
    """What a person keeps, and can take to another machine: `~/.local/share/tacitd` (platformdirs)."""
    return _platform(env, "data", ".local/share")


def find_file_in_the_way(directory: Path) -> Path | None:
    """Given the path of a directory, return the file in its place or in place of one of its parents; None if neither."""
    nearest = next((path for path in (directory, *directory.parents) if os.access(path, os.F_OK)), directory)
    return nearest if nearest.is_file() else None


def socket_path(env: Mapping[str, str]) -> Path:
    """The socket of the daemon with this state directory: TACITD_SOCKET, otherwise `tacitd.sock` in that directory. A path of more than
    100 bytes becomes a short one in `/tmp/tacitd-<uid>`.

    Raises ConfigError if TACITD_SOCKET is too long or relative.
    """
    named = _named(env, "TACITD_SOCKET")
    if named is not None:
        if len(os.fsencode(named)) <= LONGEST:
            return named
        what = f"TACITD_SOCKET is longer than {LONGEST} bytes: {named}"
        raise ConfigError(what, "set it to a shorter path")
    state = state_dir(env)
    usual = state / SOCKET
    return usual if len(os.fsencode(usual)) <= LONGEST else short_socket(state)


def short_socket(state: Path) -> Path:
    """Where the socket is if the state directory has a long path, or a file system that takes no socket."""
    name = sha256(os.fsencode(os.path.realpath(state))).hexdigest()[:16]
    return SHORT / f"tacitd-{os.getuid()}" / f"{name}.sock"


def is_foreign(directory: Path) -> bool:
    """Whether others than this user could put something into this directory, which exists."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return not is_own or bool(status.st_mode & 0o022)


def _named(env: Mapping[str, str], variable: str) -> Path | None:
    """A path from the environment, absolute, with `~` expanded; None if the variable is unset or empty. Raises ConfigError for a
    relative one of tacitd's: a command in another directory, and the daemon, would look elsewhere."""
    text = env.get(variable, "")
    if not text:
        return None
    if variable.startswith("TACITD_") and not text.startswith(("/", "~/")) and text != "~":
        raise ConfigError(f"{variable} is not an absolute path: {text}", "let it begin with `/` or `~/`")
    whole = os.fspath(find_home(env)) + text[1:] if text == "~" or text.startswith("~/") else text
    return Path(os.path.abspath(whole))  # noqa: PTH100 - links stay as they are: it may not exist yet


def _platform(env: Mapping[str, str], kind: str, unix: str) -> Path:
    """One of the system's directories for tacitd, according to `env` and not to this process's environment. `kind`: as platformdirs
    names it; `unix`: below the home, on Linux."""
    base = env.get(f"XDG_{kind.upper()}_HOME", "")
    if base.startswith("/"):
        return Path(base, "tacitd")
    if sys.platform.startswith("linux"):
        return find_home(env) / unix / "tacitd"
    import platformdirs

    home = find_home(env)
    found: Path = getattr(platformdirs, f"user_{kind}_path")("tacitd", appauthor=False)
    return home / found.relative_to(Path.home()) if found.is_relative_to(Path.home()) else found
