"""Temporary files: how new bytes wait, beside the file they are for, until they get its name.

Naming, writing, dressing (mode and owner) and sweeping of temporary files belong here; the moment in which
they take the place of the real file is replaced.py's and log.py's.

A temporary file is `.tacitd-<random>.new` while it is written. Just before a swap it is renamed to
`.tacitd-<random>-<digest>-<digest>.old`, where the digests are those of the bytes that we wrote and that we
read: what lies under that name after a crash is one of the two, or else it is what a person saved in that
very moment, and then it is never removed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, mode_within, read_all, regular, write_all

TEMP_PREFIX = ".tacitd-"
"""What the name of every temporary file of ours begins with. Watchers ignore these."""
STALE = 86_400.0
"""Seconds after which a temporary file is taken to be left over from a crash."""
LIMIT = 16 << 20
"""Bytes: a file longer than this is refused, because it is read whole."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was at one moment."""

    data: bytes
    stat: os.stat_result


def look(target: Path, disk: Disk) -> Seen | None:
    """The file's bytes and stat from one descriptor; None where there is none.

    Raises FileRefusedError for a directory, a FIFO, a loop of links, or more than LIMIT bytes.
    """
    try:
        # Looked at before it is opened: to open a device can already do something.
        _refuse_odd(target, disk.stat(target))
        fd = disk.open_read(target)
    except FileNotFoundError:
        return None
    try:
        found = disk.fstat(fd)
        _refuse_odd(target, found)
        return Seen(read_all(fd, disk), found)
    finally:
        disk.close(fd)


def write_temp(
    target: Path, parts: Iterable[bytes], like: os.stat_result | None, mode: int | None, disk: Disk
) -> Path:
    """Write and sync a temporary file beside `target`, with the mode and owner it is to have there.

    `mode` None: that of `like`, the file to be replaced; without one, that of the directory, so that a service's
    narrow umask hides no file from the people who work in a project.
    """
    temp = _new_name(target)
    if like is None and mode is None:
        mode = mode_within(target.parent, disk)
    fd = disk.open_new(temp, 0o600)
    with removed_on_failure(temp, disk):
        try:
            for part in parts:
                write_all(fd, part, disk)
            _dress(fd, like, mode, disk)
            disk.sync(fd)
            sweep(target.parent, disk.fstat(fd).st_ctime - STALE, disk)
        finally:
            disk.close(fd)
    return temp


def read_file_system_time(directory: Path, disk: Disk) -> int | None:
    """The time of the directory's file system, in ns since 1970: that which it gives to a new file.

    None if no file can be made there. It differs from the machine's clock on network file systems, and in tests.
    """
    probe = _new_name(directory / "probe")
    try:
        fd = disk.open_new(probe, 0o600)
        try:
            return disk.fstat(fd).st_mtime_ns
        finally:
            disk.close(fd)
            disk.unlink(probe)
    except OSError:
        return None


def swap_name(temp: Path, ours: bytes, theirs: bytes) -> Path:
    """The name under which a temporary file goes into a swap: it says which bytes may safely be removed."""
    return temp.with_name(f"{temp.stem}-{_digest(ours)}-{_digest(theirs)}.old")


def copy_name(target: Path, standing: bytes) -> Path:
    """The name for a copy of somebody's words that do not stand in the file; no sweep removes it."""
    return swap_name(_new_name(target), standing, b"")


@contextmanager
def removed_on_failure(temp: Path, disk: Disk) -> Iterator[None]:
    """Remove the temporary file where the block fails, unless it holds what a person wrote."""
    try:
        yield
    except BaseException:
        with suppress(OSError, FileRefusedError):
            if _is_ours(temp, disk):
                disk.unlink(temp)
        raise


def sweep(directory: Path, before: float, disk: Disk) -> None:
    """Remove temporary files of ours whose last change is older than `before` (seconds since 1970).

    Never raises: another process may be doing the same, or the directory may not let us look. It is litter,
    and nothing depends on it.
    """
    with suppress(OSError):
        for name in disk.names(directory):
            if name.startswith(TEMP_PREFIX):
                _sweep_one(directory / name, before, disk)


def kept_for_a_person(directory: Path, disk: Disk) -> list[Path]:
    """The temporary files in a directory that hold what a person saved while a file was swapped. Never raises."""
    found: list[Path] = []
    with suppress(OSError):
        for name in sorted(disk.names(directory)):
            if name.startswith(TEMP_PREFIX) and name.endswith(".old"):
                with suppress(OSError, FileRefusedError):
                    path = directory / name
                    found += [] if _is_ours(path, disk) else [path]
    return found


def _sweep_one(temp: Path, before: float, disk: Disk) -> None:
    with suppress(OSError, FileRefusedError):
        if disk.stat(temp).st_ctime < before and _is_ours(temp, disk):
            disk.unlink(temp)


def _is_ours(temp: Path, disk: Disk) -> bool:
    if temp.suffix == ".new":
        return True
    seen = look(temp, disk)
    return temp.suffix == ".old" and seen is not None and _digest(seen.data) in temp.stem.split("-")


def _refuse_odd(target: Path, found: os.stat_result) -> None:
    if not regular(found):
        raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
    if found.st_size > LIMIT:
        raise FileRefusedError(f"{target} is longer than {LIMIT >> 20} MB", "shorten it")


def _dress(fd: int, like: os.stat_result | None, mode: int | None, disk: Disk) -> None:
    if like is not None:
        bits = like.st_mode & 0o7777
        mine = disk.fstat(fd)
        if (like.st_uid, like.st_gid) != (mine.st_uid, mine.st_gid):
            bits = _give(fd, like, bits, disk)
        disk.chmod(fd, bits if mode is None else mode)
    elif mode is not None:
        disk.chmod(fd, mode)


def _give(fd: int, like: os.stat_result, bits: int, disk: Disk) -> int:
    """Give the file the owner of the one it replaces; return the mode that is then right.

    Only root may give files away. Keep the group at least, and where even that is not allowed, do not grant
    the old group's rights to another one.
    """
    try:
        disk.chown(fd, like.st_uid, like.st_gid)
    except PermissionError:
        bits &= 0o777
    else:
        return bits
    try:
        disk.chown(fd, -1, like.st_gid)
    except PermissionError:
        return bits & 0o707
    return bits


def _new_name(target: Path) -> Path:
    return target.parent / f"{TEMP_PREFIX}{secrets.token_hex(8)}.new"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
