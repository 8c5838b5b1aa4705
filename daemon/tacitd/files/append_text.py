"""Appending to a text file that people and other programs read and write too (L-04, L-54, E-23).

The existing bytes are always a prefix of the new bytes. One append is one `write` on an O_APPEND descriptor and one sync. If
the last line is torn, the write begins with a newline. Formats do not belong here. `append_text` appends what is known
before; `hold_file` is for whoever decides by what the file has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, is_regular, make_dirs, read_all, same_file, write_all
from tacitd.files.json_document import read_tail


class HeldFile:
    """A file whose flock is held, so that no other program that uses this module appends to it."""

    def __init__(self, fd: int, target: Path, disk: Disk, *, new: bool) -> None:
        self._fd = fd
        self._target = target
        self._disk = disk
        self._new = new

    def read(self) -> bytes:
        """All its bytes. Raises OSError."""
        return read_all(self._fd, self._disk)

    def append(self, text: bytes, *, begin: bytes = b"", newline: bytes = b"\n") -> None:
        """Append `text`, whole lines in UTF-8; durable when this returns.

        `begin` is written before it if the file is empty; `newline` completes a last line without one. Raises OSError: the
        file may then contain a part of the text, or all of it without being durable.
        """
        size = self._disk.fstat(self._fd).st_size
        torn = size > 0 and self._disk.pread(self._fd, 1, size - 1) != b"\n"
        write_all(self._fd, (begin if size == 0 else newline if torn else b"") + text, self._disk)
        self._disk.sync(self._fd)
        if self._new:
            self._disk.sync_dir(self._target.parent)
            self._new = False


@contextmanager
def hold_file(path: Path, disk: Disk | None = None) -> Iterator[HeldFile]:
    """Hold the file's lock; it is made if it is missing. Waits without a limit.

    A new file is 0600; an existing one keeps its mode; of a symlink it is the target's lock. Raises OSError, and
    FileRefusedError if it is not an ordinary file.
    """
    disk = disk or RealDisk()
    make_dirs(path.parent, disk, private=True)
    target = disk.resolve(path)
    while True:
        new = not _is_there(target, disk)
        fd = disk.open_append(target, 0o600)
        try:
            held = disk.fstat(fd)
            if not is_regular(held):
                raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
            disk.lock(fd, wait=True)
            # Another program may have put a new file in its place before the lock was there: that one is opened then.
            if _is_there(target, disk) and same_file(held, disk.stat(target)):
                yield HeldFile(fd, target, disk, new=new)
                return
        finally:
            disk.close(fd)


def append_text(
    path: Path, text: bytes, *, begin: bytes = b"", newline: bytes = b"\n", disk: Disk | None = None
) -> None:
    """Append `text` to the file, as `HeldFile.append` does. Raises what that and `hold_file` raise."""
    with hold_file(path, disk) as file:
        file.append(text, begin=begin, newline=newline)


def append_missing(path: Path, lines: Sequence[str], disk: Disk | None = None) -> None:
    """Append the lines that are not among the last ones of the file, each once. Raises OSError, FileRefusedError."""
    disk = disk or RealDisk()
    there = set(read_tail(disk.resolve(path), disk=disk).split(b"\n"))
    new = [data for line in dict.fromkeys(lines) if (data := line.encode()) not in there]
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
