"""Read files that may be links, FIFOs or devices. Used by `tacitd context`, so this module imports little."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacitd.errors import FileRefusedError


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


def read_plain_bytes(path: Path, limit: int, begin: int = 0) -> bytes | None:
    """Return at most `limit` bytes of a regular file from byte offset `begin` on; None if it does not exist.

    Links are followed. Raises FileRefusedError for a FIFO or a device, without blocking on it, and OSError, also for a
    directory.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(mode := os.fstat(fd).st_mode) and not stat.S_ISDIR(mode):
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        with open(fd, "rb", closefd=False) as file:
            file.seek(begin)
            return file.read(limit)
    finally:
        os.close(fd)  # `open` would leave that of a directory open
