"""The files of the store: how they are created, on which file system they are, and how they are put aside. Nothing here opens
the store itself: see `tacitd.store`.

    tacitd.sqlite                        the store, 0600; SQLite makes -wal, -shm or -journal beside it with the same mode
    tacitd.sqlite.2026-02-19T14-30-05    one that was damaged or replaced, put aside at this local time; removed after 30 days
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from tacitd.errors import (
    OS_ERROR_HINTS,
    BusyStoreError,
    StoreLostError,
    UnwritableError,
    describe_os_error,
)
from tacitd.text.lazy_pattern import compile_lazily

STORE = "tacitd.sqlite"
"""The store's file name in the state directory."""
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite appends to the name for its own files."""
KEPT_DAYS = 30
"""Days for which a store that was put aside is kept."""
_ASIDE = compile_lazily(
    re.escape(STORE) + r"\.(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:\.\d+)?(?:-wal|-journal)?\Z"
)
_DATE = "%Y-%m-%dT%H-%M-%S"


def create_store(path: Path) -> None:
    """Create an empty file of mode 0600, or take all rights of others from the one that is there: SQLite
    would use the umask. Raises OSError."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def was_left_open(path: Path) -> bool:
    """Whether the last process that wrote the store ended without closing it, or another one has it open."""
    for end in ("-wal", "-journal"):
        with suppress(OSError):
            if Path(f"{path}{end}").stat().st_size > 0:
                return True
    return False


def put_aside(path: Path, now: float) -> Path | None:
    """Rename the store and what SQLite has beside it, and return the new path; None if there is no store. `now`: seconds since
    1970, UTC. Raises OSError.

    The store is renamed first: without it SQLite drops the other files, but it without them would be an older state.
    """
    name = f"{path}.{datetime.fromtimestamp(now).strftime(_DATE)}"
    target = next(one for n in range(1000) if not (one := Path(f"{name}.{n}" if n else name)).exists())
    try:
        path.rename(target)
    except FileNotFoundError:
        return None
    if target.stat().st_mode & 0o077:  # another program's file came in its place
        target.chmod(0o600)
    for end in BESIDE:
        with suppress(FileNotFoundError):
            if end == "-shm":
                os.unlink(f"{path}{end}")  # noqa: PTH108
            else:
                os.rename(f"{path}{end}", f"{target}{end}")  # noqa: PTH104
    return target


def list_aside(directory: Path) -> Iterator[tuple[Path, float]]:
    """The stores that were put aside, each file with the time: seconds since 1970, UTC."""
    for path in sorted(directory.iterdir()):
        if found := _ASIDE.match(path.name):
            yield path, datetime.strptime(found[1], _DATE).timestamp()


def remove_aside(directory: Path, before: float) -> int:
    """Delete the stores that were put aside before a time, and return how many files that were. Raises OSError."""
    old = [path for path, at in list_aside(directory) if at < before]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


# --- What an error of SQLite means for a person: the disk's own words, or the process that locks the store.
#
# SQLite tells three kinds apart: the disk (full, read-only, broken), damage of the file, and another
# process's lock. Any other error is a mistake of the program that wrote the statement, and stays as it is.


LONG = 5.0
"""Seconds after which the process that holds the write lock is named."""
BUSY = {sqlite3.SQLITE_BUSY}
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
}
LOCKS = Path("/proc/locks")
_PROBE = ".tacitd-probe"
_PROBE_BYTES = b"\0" * (128 << 10)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code; 0 for an error that SQLite did not report, such as one that a plugin raised itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def describe_error(path: Path, error: sqlite3.Error | OSError, seconds: float) -> Exception:
    """The error to raise for one that reading or writing the store gave. `seconds`: since when another process holds the lock; it
    is named after 5."""
    if isinstance(error, OSError):
        return UnwritableError(*describe_os_error(error))
    code = code_of(error)
    if code in BUSY:
        return _describe_busy(path, seconds)
    if code in DAMAGE:
        return StoreLostError("the store is damaged", "`tacitd start` puts it aside and begins a new one")
    if code not in DISK:
        return error
    if found := probe(path):
        return UnwritableError(*found)
    number = errno.ENOSPC if code == sqlite3.SQLITE_FULL else errno.EIO
    return UnwritableError(f"{path}: {error}", OS_ERROR_HINTS[number])


def _describe_busy(path: Path, seconds: float) -> BusyStoreError:
    if seconds < LONG:
        return BusyStoreError("another process writes the store", "it is tried again")
    pid = find_lock_holder(path)
    if pid is None:
        what, hint = "another process holds the store", f"find it with `fuser {path}`"
    else:
        what, hint = f"{describe_process(pid)} holds the store", f"let it go on, or end it: `kill {pid}`"
    return BusyStoreError(what, hint)


def probe(path: Path) -> tuple[str, str] | None:
    """What is wrong with the store's disk, and the hint that fixes it; None if nothing is. SQLite reports
    most faults of a disk as "disk I/O error", so a file is written beside the store."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        beside = path.with_name(_PROBE)
        fd = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            done = os.pwrite(fd, _PROBE_BYTES, 0)
            while done < len(_PROBE_BYTES):
                done += os.pwrite(fd, _PROBE_BYTES[done:], done)
            os.fsync(fd)
        finally:
            os.close(fd)
            beside.unlink()
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    except OSError as error:
        error.filename = error.filename or str(path)
        return describe_os_error(error)
    return None


def find_lock_holder(path: Path) -> int | None:
    """The process that holds the store's write lock; None if it is not known, as on macOS or over a network."""
    places: dict[int, range] = {}
    for file, locked in ((f"{path}-shm", range(120, 121)), (str(path), range(1 << 30, (1 << 30) + 2))):
        with suppress(OSError):
            places[os.stat(file).st_ino] = locked  # noqa: PTH116
    try:
        lines = LOCKS.read_text("ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        # 4: POSIX  ADVISORY  WRITE 4242 fd:01:262147 120 120
        match line.split():
            case [_, "POSIX", _, "WRITE", pid, place, first, _] if pid.isdigit() and int(pid) not in (
                0,
                os.getpid(),
            ):
                if int(first) in places.get(int(place.rpartition(":")[2]), ()):
                    return int(pid)
    return None


def describe_process(pid: int) -> str:
    """A process for a person: its name, if the system says it, and its id."""
    try:
        return f"{Path(f'/proc/{pid}/comm').read_text('utf-8', 'replace').strip()} ({pid})"
    except OSError:
        return f"process {pid}"
