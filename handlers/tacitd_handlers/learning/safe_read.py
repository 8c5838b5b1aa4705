"""Reading a file that may be anything: a link, a FIFO, a device. Imports next to nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacitd.errors import FileRefusedError


def resolve_links(path: Path) -> Path:
    """The path behind every link. Unlike `Path.resolve` it raises nothing where links run in a circle."""
    return Path(os.path.realpath(path))


def leads_out(path: Path, root: Path) -> bool:
    """Whether the file behind every link is outside the project, or in a git directory.

    A repository can bring such a link along. The text behind it is not the project's: it may be a private key.
    """
    place, top = resolve_links(path), resolve_links(root)
    return not place.is_relative_to(top) or ".git" in map(str.casefold, place.relative_to(top).parts)


def read_plain_bytes(path: Path, limit: int, begin: int = 0) -> bytes | None:
    """At most `limit` bytes of an ordinary file from `begin` on, links followed; None where there is none.

    Raises FileRefusedError for a directory, a FIFO or a device (nothing waits for those), and OSError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        file.seek(begin)
        return file.read(limit)
