"""Who may run: a lock that is held for a process's life, and the private directories it stands in.

An flock is the truth, because the kernel takes it back whatever way the process ends. The process id in the
file is only there to be told to a person: a PID file is never taken as truth.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tacitd.errors import UnavailableError
from tacitd.files.disk import Disk, RealDisk, make_dirs, write_all


class Lock:
    """A held lock. It goes with the process, or with `release`; the file stays."""

    def __init__(self, path: Path, fd: int, disk: Disk) -> None:
        self.path = path
        self._fd: int | None = fd
        self._disk = disk

    def release(self) -> None:
        """Give the lock back. A second call does nothing."""
        if self._fd is not None:
            self._disk.close(self._fd)
            self._fd = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def hold(path: Path, disk: Disk | None = None) -> Lock:
    """Take the lock for life, or raise UnavailableError that names the process which holds it.

    The file is 0600; its directory is made 0700. Raises OSError where neither can be made.
    """
    disk = disk or RealDisk()
    private_dir(path.parent, disk)
    while True:
        fd = disk.open_append(path, 0o600)
        try:
            if not disk.lock(fd, wait=False):
                raise _taken(path, fd, disk)
            if _names(path, fd, disk):
                with suppress(OSError):  # the lock is what counts, and a full disk is no reason not to run
                    disk.truncate(fd)
                    write_all(fd, f"{os.getpid()}\n".encode(), disk)
                return Lock(path, fd, disk)
        except BaseException:
            disk.close(fd)
            raise
        # Somebody removed the file between our open and our lock: that lock is on a file without a name.
        disk.close(fd)


def private_dir(path: Path, disk: Disk | None = None) -> Path:
    """Make a directory 0700, and those above it that are missing; tighten it where others may enter.

    Raises OSError, NotADirectoryError where a file is in the way.
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


def _taken(path: Path, fd: int, disk: Disk) -> UnavailableError:
    pid = disk.pread(fd, 32, 0).strip().decode("ascii", "replace")
    who = f"process {pid}" if pid.isdigit() else "another process"
    return UnavailableError(
        f"{who} already runs (it holds {path})", "`tacitd status` says how it is, `tacitd stop` ends it"
    )


def _names(path: Path, fd: int, disk: Disk) -> bool:
    try:
        named = disk.stat(path)
    except FileNotFoundError:
        return False
    held = disk.fstat(fd)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
