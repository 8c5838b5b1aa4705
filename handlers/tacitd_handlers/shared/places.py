"""Files that may be links, FIFOs or devices; which project a directory belongs to; the directory of the user memory.

A project is its remote, without user, token and scheme, so that two clones are one and two folders of one name are two; without a
remote it is the path of its main work tree. Every file that `profile` or `continuity` writes into the user memory must be listed
here, for `uninstall --purge`. No heavy imports: fast commands import this.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository, read_remote
from tacitd.state.paths import config_dir, find_home

if TYPE_CHECKING:
    from tacitd.handler import Footprint


def resolve_links(path: Path) -> Path:
    """Return the real path. Unlike `Path.resolve` it raises nothing if links form a cycle."""
    return Path(os.path.realpath(path))


def leads_out(path: Path, root: Path) -> bool:
    """Whether the file's real path is outside the project, or in a git directory.

    A repository can contain such a link. The file behind it is not the project's; it may be a private key.
    """
    place, top = resolve_links(path), resolve_links(root)
    return not place.is_relative_to(top) or ".git" in map(str.casefold, place.relative_to(top).parts)


def read_text(path: Path, limit: int = 1 << 20) -> str:
    """At most `limit` bytes of a file as text, without its byte order mark; "" if it is not a readable regular file. Raises nothing."""
    try:
        data = read_plain_bytes(path, limit) or b""
    except (OSError, FileRefusedError):
        return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def read_plain_bytes(path: Path, limit: int = -1) -> bytes | None:
    """Return at most `limit` bytes (-1: all) of a regular file; None if it does not exist.

    Links are followed. Raises FileRefusedError for a directory, a FIFO or a device, without blocking on it, and OSError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(fd)


class ProjectIdentity(NamedTuple):
    key: str
    """`github.com/me/app`, or the path of its main work tree."""
    root: Path


def identify_project(directory: Path) -> ProjectIdentity:
    """Return the project that contains a directory, which need not exist. Outside git it is the directory itself."""
    here = next((path for path in (directory, *directory.parents) if path.is_dir()), directory)
    found = find_repository(Path(os.path.realpath(here)))
    top = found.top if found is not None else Path(os.path.realpath(directory))
    remote = read_remote(found) if found is not None else ""
    return ProjectIdentity(remote or os.fspath(top), top)


TURNS, SESSIONS = ".processed_turns", "sessions"
LEARNED = ("profile.json", "profile-meta.json", "changelog.jsonl", "changelog.quarantine.jsonl")


def memory_dir(env: Mapping[str, str]) -> Path:
    """Return USER_MEMORY_DIR, or `user-memory` in Claude Code's directory if it is not set (SPEC P-01).

    Claude Code's directory is CLAUDE_CONFIG_DIR, or `~/.claude`.
    """
    named = env.get("USER_MEMORY_DIR", "")
    if not named:
        return config_dir(env) / "user-memory"
    whole = os.fspath(find_home(env)) + named[1:] if named == "~" or named.startswith("~/") else named
    return Path(os.path.abspath(whole))  # noqa: PTH100 - symlinks are not resolved: the directory may not exist yet


def profile_footprint(environ: Mapping[str, str]) -> Footprint:
    from tacitd.handler import Footprint

    place = memory_dir(environ)
    return Footprint([place / TURNS], [place / name for name in LEARNED], [place], [place])


def sessions_footprint(environ: Mapping[str, str]) -> Footprint:
    from tacitd.handler import Footprint

    place = memory_dir(environ)
    sessions = place / SESSIONS
    return Footprint([], [sessions], [place, sessions], [sessions, place])
