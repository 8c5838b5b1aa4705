"""`Disk`: every system call that the durable files make.

Only single calls belong here, each as thin as possible, so that a test can count them, make them fail, or stop the
process before any of them. Formats, retries and decisions do not belong here.

What the kernel guarantees, and the other modules of this folder rely on:

- One `write` on an O_APPEND descriptor goes to the end of the file in one piece (write(2)). It may be short if the disk
  is full or a signal arrives.
- `rename` replaces a name atomically. Neither a rename nor a new name is durable before the directory is synced
  (fsync(2)).
- On macOS `fsync` only passes the bytes to the drive; F_FULLFSYNC makes the drive store them (fsync(2) there).
- On Linux a failed sync marks the pages as clean, so the next sync reports success for bytes that were never stored.
- An flock belongs to the open file and is released with its last descriptor, so it never outlives a process.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from pathlib import Path
from typing import Protocol

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}


class Disk(Protocol):
    """The operations that durable files are made of. All raise only OSError."""

    def resolve(self, path: Path) -> Path:
        """The path with every symlink resolved; parts that do not exist are kept."""
        ...

    def stat(self, path: Path) -> os.stat_result:
        """The stat of the path itself: a symlink is not followed."""
        ...

    def fstat(self, fd: int) -> os.stat_result:
        """The stat of the open file."""
        ...

    def names(self, directory: Path) -> list[str]:
        """The names in a directory."""
        ...

    def may_write(self, path: Path) -> bool:
        """Whether permissions and mount options let this process write here."""
        ...

    def open_read(self, path: Path) -> int:
        """A descriptor for reading. It does not block on a FIFO."""
        ...

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        """Up to `size` bytes from `offset`; b"" at the end."""
        ...

    def close(self, fd: int) -> None:
        """Close a descriptor. Changes nothing on the disk."""
        ...

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Take the exclusive flock; False if another open file has it and `wait` is not set."""
        ...

    def unlock(self, fd: int) -> None:
        """Release the flock."""
        ...

    def open_append(self, path: Path, mode: int) -> int:
        """An O_APPEND descriptor that can also read. A missing file is created with `mode` less the umask."""
        ...

    def open_new(self, path: Path, mode: int) -> int:
        """Create a file and return its descriptor; FileExistsError if the name exists."""
        ...

    def write(self, fd: int, data: bytes) -> int:
        """One write. Returns how many bytes were written, which may be fewer than given."""
        ...

    def truncate(self, fd: int) -> None:
        """Make the file empty."""
        ...

    def chmod(self, fd: int, mode: int) -> None:
        """Set the permission bits."""
        ...

    def chown(self, fd: int, uid: int, gid: int) -> None:
        """Set owner and group; -1 leaves one unchanged."""
        ...

    def sync(self, fd: int) -> None:
        """Bytes and metadata are on the drive when this returns."""
        ...

    def sync_data(self, fd: int) -> None:
        """Bytes, and what is needed to read them, are on the drive when this returns."""
        ...

    def sync_dir(self, directory: Path) -> None:
        """The names in the directory are on the drive when this returns."""
        ...

    def mkdir(self, path: Path, mode: int) -> None:
        """Make one directory."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename, replacing `target` if it exists."""
        ...

    def place(self, source: Path, target: Path) -> None:
        """Rename without replacing anything; FileExistsError if `target` exists."""
        ...

    def exchange(self, one: Path, other: Path) -> bool:
        """Exchange two names atomically. False if this system or file system cannot."""
        ...

    def unlink(self, path: Path) -> None: ...


class RealDisk:
    """`Disk` by the operating system's calls."""

    def resolve(self, path: Path) -> Path:
        # realpath, because Path.resolve raises RuntimeError on a loop of links.
        return Path(os.path.realpath(path))

    def stat(self, path: Path) -> os.stat_result:
        return path.lstat()

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def names(self, directory: Path) -> list[str]:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]

    def may_write(self, path: Path) -> bool:
        return os.access(path, os.W_OK)

    def open_read(self, path: Path) -> int:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        return os.pread(fd, size, offset)

    def close(self, fd: int) -> None:
        os.close(fd)

    def lock(self, fd: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks. Without one, a single writer is still safe.
            if error.errno not in _NO_LOCKS:
                raise
        return True

    def unlock(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_UN)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise

    def open_append(self, path: Path, mode: int) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(path, flags, mode)

    def open_new(self, path: Path, mode: int) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def truncate(self, fd: int) -> None:
        os.ftruncate(fd, 0)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        os.fchown(fd, uid, gid)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            try:
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            except OSError as error:
                if error.errno not in _NO_SYNC:
                    raise
            else:
                return
        os.fsync(fd)

    def sync_data(self, fd: int) -> None:
        if sys.platform == "darwin":
            self.sync(fd)
        else:
            os.fdatasync(fd)

    def sync_dir(self, directory: Path) -> None:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError as error:
            # Some file systems (FAT, some network file systems) cannot sync a directory.
            if error.errno not in _NO_SYNC:
                raise
        finally:
            os.close(fd)

    def mkdir(self, path: Path, mode: int) -> None:
        path.mkdir(mode)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def place(self, source: Path, target: Path) -> None:
        from tacitd.files.swap import rename_exclusive

        rename_exclusive(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        from tacitd.files.swap import exchange_names

        return exchange_names(one, other)

    def unlink(self, path: Path) -> None:
        path.unlink()


def is_regular(seen: os.stat_result) -> bool:
    """Whether this is an ordinary file, not a directory, link, FIFO or device."""
    return stat.S_ISREG(seen.st_mode)


def same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are the same file, under whatever names (device and inode)."""
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def read_all(fd: int, disk: Disk) -> bytes:
    """Given a descriptor of an ordinary file, return all its bytes."""
    parts: list[bytes] = []
    offset = 0
    while part := disk.pread(fd, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes, disk: Disk) -> None:
    """Write all of `data`, in one write unless the kernel makes it short. Raises OSError, also if a write takes nothing."""
    taken = disk.write(fd, data)
    while taken < len(data):
        more = disk.write(fd, data[taken:])
        if more <= 0:  # otherwise this loop would not end
            raise OSError(errno.EIO, "the disk takes no more bytes")
        taken += more


def make_dirs(path: Path, disk: Disk, *, private: bool) -> None:
    """Make a directory and the missing ones above it, durably. `private`: 0700, otherwise with their parent's mode.

    The umask is not used: a service has a narrow one, but the people who work in a project must be able to use its files.
    """
    missing: list[Path] = []
    at = path
    while not path_exists(at, disk):
        missing.append(at)
        at = at.parent
    for each in reversed(missing):
        try:
            disk.mkdir(each, 0o700 if private else 0o777)
        except FileExistsError:
            continue
        if not private:
            _copy_parent_mode(each, disk)
        disk.sync_dir(each.parent)


def mode_within(directory: Path, disk: Disk) -> int:
    """The permission bits for a new file of a project: those of the directory, without the execute bits."""
    return disk.stat(disk.resolve(directory)).st_mode & 0o666


def _copy_parent_mode(path: Path, disk: Disk) -> None:
    fd = disk.open_read(path)
    try:
        mine = disk.fstat(fd).st_mode & 0o7777
        bits = disk.stat(disk.resolve(path.parent)).st_mode & 0o777 | mine & 0o7700
        if bits != mine:
            disk.chmod(fd, bits)
    finally:
        disk.close(fd)


def path_exists(path: Path, disk: Disk) -> bool:
    """Whether anything has this name. The root of the file system always exists."""
    try:
        disk.stat(path)
    except FileNotFoundError:
        return path == path.parent
    return True
