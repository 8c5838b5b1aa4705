"""Appending to a text file that people and other programs read and write too (L-04, L-54).

The existing bytes are always a prefix of the new bytes. One call is one `write` on an O_APPEND descriptor and one sync. If
the last line is torn, the write begins with a newline. Formats do not belong here; only the file's last byte is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, is_regular, make_dirs, write_all
from tacitd.files.json_document import read_tail


def append_text(
    path: Path, text: bytes, *, begin: bytes = b"", newline: bytes = b"\n", disk: Disk | None = None
) -> None:
    """Append `text`, whole lines in UTF-8, to the file; durable when this returns.

    `begin` is written before it if the file is missing or empty; `newline` completes a last line without one. A new file
    is 0600; an existing one keeps its mode; a symlink's target is appended to. Raises OSError: the file may then contain
    a part of the text, or all of it without being durable. Raises FileRefusedError if it is not an ordinary file.
    """
    disk = disk or RealDisk()
    make_dirs(path.parent, disk, private=True)
    target = disk.resolve(path)
    new = not _is_there(target, disk)
    fd = disk.open_append(target, 0o600)
    try:
        if not is_regular(disk.fstat(fd)):
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


def append_missing(path: Path, lines: Sequence[str], disk: Disk | None = None) -> None:
    """Append the lines that are not among the last ones of the file. Raises OSError, FileRefusedError."""
    disk = disk or RealDisk()
    there = set(read_tail(disk.resolve(path), disk=disk).split(b"\n"))
    new = [data for line in lines if (data := line.encode()) not in there]
    if new:
        append_text(path, b"".join(data + b"\n" for data in new), disk=disk)


def _is_there(target: Path, disk: Disk) -> bool:
    """Whether the file exists. Raises FileRefusedError if it is not an ordinary file: opening a device can have effects."""
    try:
        found = disk.stat(target)
    except FileNotFoundError:
        return False
    if not is_regular(found):
        raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
    return True
