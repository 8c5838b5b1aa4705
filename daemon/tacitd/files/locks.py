"""The lock that one process holds for its lifetime, the lock of one change, and private directories (DESIGN "Control").

The flock decides, because the kernel releases it however the process ends. The process id in the file is only used in
messages and is never trusted. Locks of single appends are in log.py.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from tacitd.errors import UnavailableError
from tacitd.files.disk import Disk, RealDisk, make_dirs, write_all


class Lock:
    """A held lock. It is released by `release` or when the process ends; the file is kept."""

    def __init__(self, path: Path, fd: int, disk: Disk) -> None:
        self.path = path
        self._fd: int | None = fd
        self._disk = disk

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._fd is not None:
            self._disk.close(self._fd)
            self._fd = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def acquire_lock(path: Path, disk: Disk | None = None) -> Lock:
    """Take the lock, or raise UnavailableError with the id of the process that holds it. Does not wait.

    The file is 0600; its directory is made 0700. Raises OSError if one of them cannot be made.
    """
    disk = disk or RealDisk()
    make_private_dir(path.parent, disk)
    while True:
        # Opening must not truncate: until the lock is held, the file names another process.
        fd = disk.open_append(path, 0o600)
        try:
            if not disk.lock(fd, wait=False):
                raise _make_taken_error(path, fd, disk)
            if _is_named(path, fd, disk):
                with suppress(OSError):  # only the lock matters: on a full disk the process can still run
                    disk.truncate(fd)
                    write_all(fd, f"{os.getpid()}\n".encode(), disk)
                return Lock(path, fd, disk)
        except BaseException:
            disk.close(fd)
            raise
        # The file was removed or replaced between open and lock, so this lock is on a file without this name. A later
        # process would open another file and get its lock too.
        disk.close(fd)


@contextmanager
def wait_for_lock(path: Path, disk: Disk) -> Iterator[None]:
    """Hold the flock on an empty file, which is made if needed and stays. Waits without a limit. Raises OSError."""
    fd = disk.open_append(path, 0o600)
    try:
        disk.lock(fd, wait=True)
        yield
    finally:
        disk.close(fd)


def make_private_dir(path: Path, disk: Disk | None = None) -> Path:
    """Make a directory with mode 0700, with the missing ones above it; set 0700 if it exists and others have access.

    Raises OSError; NotADirectoryError if the path is a file.
    """
    disk = disk or RealDisk()
    make_dirs(path, disk, private=True)
    fd = disk.open_read(path)
    try:
        mode = disk.fstat(fd).st_mode
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        if mode & 0o077:
            disk.chmod(fd, 0o700)
    finally:
        disk.close(fd)
    return path


def _make_taken_error(path: Path, fd: int, disk: Disk) -> UnavailableError:
    pid = disk.pread(fd, 32, 0).strip().decode("ascii", "replace")
    who = f"process {pid}" if pid.isdigit() else "another process"
    return UnavailableError(
        f"{who} already runs (it holds {path})", "see `tacitd status`, or end it with `tacitd stop`"
    )


def _is_named(path: Path, fd: int, disk: Disk) -> bool:
    try:
        named = disk.stat(path)
    except FileNotFoundError:
        return False
    held = disk.fstat(fd)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
