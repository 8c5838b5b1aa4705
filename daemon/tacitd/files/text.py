"""Appending to a text file that people and other programs read and write too: bytes are added, none is changed.

What was there stays a prefix of what is there, always. One call is one `write` on an O_APPEND descriptor and one sync,
after a newline of its own where the last line was torn. No format belongs here, and nothing is read but the last byte.
"""

from __future__ import annotations

from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, make_dirs, regular, write_all


def append_text(
    path: Path, text: bytes, *, begin: bytes = b"", newline: bytes = b"\n", disk: Disk | None = None
) -> None:
    """Add `text`, whole lines, at the end of the file; durable when this returns.

    `begin` goes before it where the file is not there or empty; `newline` completes a last line that has none. A new
    file is 0600, one that is there keeps its mode; a symlink's target is appended to. Raises OSError: the text may
    then stand there in part, or whole but not durable. Raises FileRefusedError where this is no ordinary file.
    """
    disk = disk or RealDisk()
    make_dirs(path.parent, disk, private=True)
    target = disk.resolve(path)
    new = not _is_there(target, disk)
    fd = disk.open_append(target, 0o600)
    try:
        if not regular(disk.fstat(fd)):
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        disk.lock(fd, wait=True)
        size = disk.fstat(fd).st_size
        torn = size > 0 and disk.pread(fd, 1, size - 1) != b"\n"
        write_all(fd, (begin if size == 0 else newline if torn else b"") + text, disk)
        disk.sync(fd)
    finally:
        disk.close(fd)
    if new:
        disk.sync_dir(target.parent)


def _is_there(target: Path, disk: Disk) -> bool:
    """Raises FileRefusedError where it is there and is no ordinary file: to open a device can already do something."""
    try:
        found = disk.stat(target)
    except FileNotFoundError:
        return False
    if not regular(found):
        raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
    return True
