"""The lock that one process holds for its lifetime, private directories, and which process planned something (DESIGN "Control").

The flock decides. The process id in the file is only used in messages.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from tacitd.errors import UnavailableError
from tacitd.files.disk import DISK, Disk, find_stat, make_dirs, same_file, write_all


class Lock(AbstractContextManager["Lock"]):
    """A held lock. It is released by `release` or when the process ends; the file is kept."""

    def __init__(self, path: Path, fd: int, disk: Disk) -> None:
        self.path = path
        self._fd: int | None = fd
        self._disk = disk

    @property
    def is_held(self) -> bool:
        """Whether this process holds it, and its file is still the one at the path: a person may have deleted that."""
        named = find_stat(self.path, self._disk) if self._fd is not None else None
        return named is not None and self._fd is not None and same_file(named, self._disk.fstat(self._fd))

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._fd is not None:
            self._disk.close(self._fd)
            self._fd = None

    def __exit__(self, *_: object) -> None:
        self.release()


def acquire_lock(path: Path, disk: Disk = DISK) -> Lock:
    """Take the lock, or raise UnavailableError with the id of the process that holds it. The file is 0600, its directory 0700. Raises
    OSError if one of them cannot be made."""
    make_private_dir(path.parent, disk)
    while True:
        # Opening must not truncate: until the lock is held, the file names another process.
        fd = disk.open_append(path, 0o600)
        try:
            if not disk.lock(fd, wait=False):
                pid = disk.pread(fd, 32, 0).strip().decode("ascii", "replace")
                who = f"process {pid}" if pid.isdigit() else "another process"
                hint = "see `tacitd status`, or end it with `tacitd stop`"
                raise UnavailableError(f"{who} already runs (it holds {path})", hint)
            named = find_stat(path, disk)
            if named is not None and same_file(named, disk.fstat(fd)):
                with suppress(OSError):  # only the lock matters: on a full disk the process can still run
                    disk.truncate(fd)
                    write_all(fd, f"{os.getpid()}\n".encode(), disk)
                return Lock(path, fd, disk)
        except BaseException:
            disk.close(fd)
            raise
        # The file was removed or replaced between open and lock: a later process would get the lock of another file.
        disk.close(fd)


def find_holder(path: Path) -> int | None:
    """The id of the process that holds the lock; None if none does, or it is not known."""
    try:
        fd = DISK.open_read(path)
    except OSError:
        return None
    try:
        pid = DISK.pread(fd, 32, 0).strip()
        # Only if that process runs: taking the lock for a moment would keep a daemon from starting.
        is_held = pid.isdigit() and is_alive(name_process(int(pid))) and not DISK.lock(fd, wait=False)
        return int(pid) if is_held else None
    except OSError:
        return None
    finally:
        DISK.close(fd)


def make_private_dir(path: Path, disk: Disk = DISK) -> Path:
    """Make a directory with mode 0700, with the missing ones above it; set 0700 if it exists and others have access. Raises OSError."""
    make_dirs(path, disk, private=True)
    fd = disk.open_read(path)
    try:
        mode = disk.fstat(fd).st_mode
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        if mode & 0o077:
            disk.chmod(fd, 0o700)
    except OSError as error:  # what fails on a descriptor names no file
        error.filename = error.filename or str(path)
        raise
    finally:
        disk.close(fd)
    return path


def name_process(pid: int | None = None) -> str:
    """A process, by default this one, as plans name it: its id and when it began, because an id is used again."""
    return f"{pid or os.getpid()} {_read_start(pid or os.getpid())}"


def is_alive(process: str) -> bool:
    """Whether a process that planned a change still runs."""
    pid, _, start = process.partition(" ")
    return pid.isdigit() and process_exists(int(pid)) and _read_start(int(pid)) == start


def process_exists(pid: int) -> bool:
    """Whether a process of any user has this id. It may be another one by now."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return pid > 0


def _read_start(pid: int) -> str:
    """In the system's ticks; "" where that is not known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
