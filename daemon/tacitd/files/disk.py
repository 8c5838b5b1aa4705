"""`Disk`: every system call that the durable files make, so that a test can count them, make one fail, or stop the process before
it (`tests/support_faulty_disk.py`). What the kernel guarantees, and the other modules of this folder rely on:

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
from collections.abc import Callable
from functools import cache
from pathlib import Path

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}
# rename(2): EINVAL if the file system does not support the flag. ENOSYS: the kernel is older than the C library.
_NO_RENAME = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}
_SWAP, _EXCLUSIVE = (0x2, 0x4) if sys.platform == "darwin" else (0x2, 0x1)
_AT_FDCWD = -100


class Disk:
    """The operating system's calls. All raise only OSError."""

    def resolve(self, path: Path) -> Path:
        """The path with every symlink resolved; parts that do not exist are kept."""
        # realpath, because Path.resolve raises RuntimeError on a loop of links.
        return Path(os.path.realpath(path))

    def stat(self, path: Path) -> os.stat_result:
        """The stat of the path itself: a symlink is not followed."""
        return path.lstat()

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def names(self, directory: Path) -> list[str]:
        return os.listdir(directory)  # noqa: PTH208  texts: a directory may have thousands of files

    def open_read(self, path: Path) -> int:
        """A descriptor for reading. It does not block on a FIFO."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        return os.pread(fd, size, offset)

    def close(self, fd: int) -> None:
        os.close(fd)

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Take the exclusive flock; False if another open file has it and `wait` is not set."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks. Without one, a single writer is still safe.
            if error.errno not in _NO_LOCKS:
                raise
        return True

    def open_append(self, path: Path, mode: int) -> int:
        """An O_APPEND descriptor that can also read. A missing file is created with `mode` less the umask."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(path, flags, mode)

    def open_new(self, path: Path, mode: int) -> int:
        """Create a file and return its descriptor; FileExistsError if the name exists."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)

    def write(self, fd: int, data: bytes) -> int:
        """One write. Returns how many bytes were written, which may be fewer than given."""
        return os.write(fd, data)

    def truncate(self, fd: int) -> None:
        os.ftruncate(fd, 0)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        """Set owner and group; -1 leaves one unchanged."""
        os.fchown(fd, uid, gid)

    def sync(self, fd: int) -> None:
        """Bytes and metadata are on the drive when this returns."""
        if sys.platform == "darwin":
            try:
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            except OSError as error:
                if error.errno not in _NO_SYNC:
                    raise
            else:
                return
        os.fsync(fd)

    def sync_dir(self, directory: Path) -> None:
        """The names in the directory are on the drive when this returns."""
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
        """Rename, replacing `target` if it exists."""
        source.replace(target)

    def place(self, source: Path, target: Path) -> None:
        """Rename without replacing anything; FileExistsError if `target` exists."""
        if _rename(source, target, _EXCLUSIVE):
            return
        try:
            # link(2) fails with EEXIST if the name exists, and there is no moment at which the file has no name.
            os.link(source, target)
        except OSError as error:
            # link(2): EPERM if the file system has no hard links, EMLINK if the file has as many as it can have.
            if error.errno not in _NO_RENAME | {errno.EPERM, errno.EMLINK}:
                raise
            # No hard links either (FAT). A file that is created between the check and the rename would be overwritten.
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            source.replace(target)
        else:
            source.unlink()

    def exchange(self, one: Path, other: Path) -> bool:
        """Exchange two names atomically. False if this system or file system cannot."""
        return _rename(one, other, _SWAP)

    def unlink(self, path: Path) -> None:
        path.unlink()


DISK = Disk()


def _rename(source: Path, target: Path, flag: int) -> bool:
    """Rename with a flag; False if the C library, the kernel or the file system does not know it. Raises OSError."""
    call = _system_call()
    code = errno.ENOSYS if call is None else call(os.fsencode(source), os.fsencode(target), flag)
    if code and code not in _NO_RENAME:
        raise OSError(code, os.strerror(code), str(source), None, str(target))
    return code == 0


@cache
def _system_call() -> Callable[[bytes, bytes, int], int] | None:
    """`renameat2` (Linux 3.15, glibc 2.28) or `renamex_np` (macOS 10.12), which returns 0 or the error's number; None if there is
    neither."""
    import ctypes  # imported at the first write: commands that only read take half of Python's start less without it

    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renamex_np" if sys.platform == "darwin" else "renameat2", None)
    if function is None:
        return None
    function.restype = ctypes.c_int
    if sys.platform == "darwin":
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
        return lambda source, target, flag: ctypes.get_errno() if function(source, target, flag) else 0
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return lambda source, target, flag: (
        ctypes.get_errno() if function(_AT_FDCWD, source, _AT_FDCWD, target, flag) else 0
    )


def is_regular(seen: os.stat_result) -> bool:
    """Whether this is an ordinary file, not a directory, link, FIFO or device."""
    return stat.S_ISREG(seen.st_mode)


def same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are the same file, under whatever names (device and inode)."""
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def read_all(fd: int, disk: Disk = DISK) -> bytes:
    """All bytes of an open ordinary file."""
    parts: list[bytes] = []
    offset = 0
    while part := disk.pread(fd, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes, disk: Disk = DISK) -> None:
    """Write all of `data`, in one write unless the kernel makes it short. Raises OSError, also if a write takes nothing."""
    taken = disk.write(fd, data)
    while taken < len(data):
        more = disk.write(fd, data[taken:])
        if more <= 0:  # otherwise this loop would not end
            raise OSError(errno.EIO, "the disk takes no more bytes")
        taken += more


def make_dirs(path: Path, disk: Disk = DISK, *, private: bool) -> None:
    """Make a directory and the missing ones above it, durably. `private`: 0700, otherwise with their parent's mode.

    The umask is not used: a service has a narrow one, but the people who work in a project must be able to use its files.
    """
    missing: list[Path] = []
    while not find_stat(path, disk) and path != path.parent:
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        try:
            disk.mkdir(each, 0o700 if private else 0o777)
        except FileExistsError:
            continue
        if not private:
            fd = disk.open_read(each)
            try:
                mine = disk.fstat(fd).st_mode & 0o7777
                bits = disk.stat(disk.resolve(each.parent)).st_mode & 0o777 | mine & 0o7700
                if bits != mine:
                    disk.chmod(fd, bits)
            finally:
                disk.close(fd)
        disk.sync_dir(each.parent)


def find_stat(path: Path, disk: Disk = DISK) -> os.stat_result | None:
    """What has this name, a link as such; None if nothing has. Raises OSError."""
    try:
        return disk.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
