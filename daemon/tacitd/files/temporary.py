"""Temporary files: new bytes beside the file that they are for, before they get its name.

Naming and writing temporary files, setting their mode and owner, and removing old ones belong here. Putting them in the
place of the real file is in replaced.py and log.py.

A temporary file is `.tacitd-<random>.new` while it is written. Just before a swap it is renamed to
`.tacitd-<random>-<digest>-<digest>.old`, with the digests of the bytes that tacitd wrote and of those that it read. After
a crash, a file of that name contains one of the two. Otherwise it contains what a person saved at that moment, and is
never removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.disk import Disk, is_regular, mode_within, read_all, write_all
from tacitd.text.hashes import sha256

TEMP_PREFIX = ".tacitd-"
"""The prefix of every temporary file of tacitd. Watchers ignore these files."""
SAVED_SUFFIX = ".tacitd-saved"
"""The end of the name of a copy with a person's text that is not in the file; a number may follow (late_writes.py)."""
STALE = 86_400.0
"""Seconds after which a temporary file counts as left over from a crash."""
LIMIT = 16 << 20
"""Bytes: a file longer than this is refused, because it is read whole."""


class FileSnapshot(Struct, frozen=True):
    """A file as it was at one moment."""

    data: bytes
    stat: os.stat_result


def read_snapshot(target: Path, disk: Disk) -> FileSnapshot | None:
    """The file's bytes and stat from one descriptor; None if it does not exist.

    Raises OSError, and FileRefusedError if it is not an ordinary file or has more than LIMIT bytes.
    """
    try:
        # Checked before it is opened, because opening a device can have effects.
        _refuse_odd(target, disk.stat(target))
        fd = disk.open_read(target)
    except FileNotFoundError:
        return None
    try:
        found = disk.fstat(fd)
        _refuse_odd(target, found)
        return FileSnapshot(read_all(fd, disk), found)
    finally:
        disk.close(fd)


def write_temp(
    target: Path,
    parts: Iterable[bytes],
    like: os.stat_result | None,
    mode: int | None,
    disk: Disk,
    *,
    durable: bool = True,
) -> Path:
    """Write and sync a temporary file beside `target`, with the mode and owner that the target will have.

    `mode` None: the mode of `like`, the file that will be replaced. Without `like`, the directory's mode without the
    execute bits, because a service's narrow umask would hide the file from the people who work in the project. Raises
    OSError. Old temporary files in the directory are removed. `durable` False: it is not synced, and old ones stay.
    """
    temp = _new_name(target)
    if like is None and mode is None:
        mode = mode_within(target.parent, disk)
    fd = disk.open_new(temp, 0o600)
    with removed_on_failure(temp, disk):
        try:
            for part in parts:
                write_all(fd, part, disk)
            _set_mode_and_owner(fd, like, mode, disk)
            if durable:
                # Before the file gets its name: a rename may be durable before the bytes are (fsync(2)), and the name
                # would be that of an empty file.
                disk.sync(fd)
                sweep_temporary(target.parent, disk.fstat(fd).st_ctime - STALE, disk)
        finally:
            disk.close(fd)
    return temp


def swap_name(temp: Path, ours: bytes, theirs: bytes) -> Path:
    """The name of a temporary file during a swap. Its digests tell which bytes can safely be removed."""
    return temp.with_name(f"{temp.stem}-{_digest(ours)}-{_digest(theirs)}.old")


@contextmanager
def removed_on_failure(temp: Path, disk: Disk) -> Iterator[None]:
    """If the block raises, remove the temporary file, unless it contains a person's text."""
    try:
        yield
    except BaseException:
        with suppress(OSError, FileRefusedError):
            if _is_ours(temp, disk):
                disk.unlink(temp)
        raise


def sweep_temporary(directory: Path, before: float, disk: Disk) -> None:
    """Remove tacitd's temporary files whose last change is older than `before` (seconds since 1970).

    A file that git tracks stays: a repository brought it along, or a person committed it. So does a file in a work tree
    of which git cannot say what it tracks. Never raises, because nothing depends on it: another process may be doing the
    same, or the directory may not be readable.
    """
    with suppress(OSError):
        found = [directory / name for name in disk.names(directory) if name.startswith(TEMP_PREFIX)]
        # By change time (inode(7)): a backup that restores files sets their modification time, and not this one.
        stale = [temp for temp in found if _is_stale(temp, before, disk)]
        if stale:  # git is asked only then
            tracked = _tracked(directory)
            for temp in stale:
                if tracked is not None and temp.name.casefold() not in tracked:
                    _remove(temp, disk)


def list_kept_copies(directory: Path, disk: Disk) -> list[Path]:
    """The files in a directory with text that a person saved during a swap or soon after. Never raises."""
    found: list[Path] = []
    with suppress(OSError):
        for name in sorted(disk.names(directory)):
            if name.startswith(TEMP_PREFIX) and name.endswith(".old"):
                with suppress(OSError, FileRefusedError):
                    path = directory / name
                    found += [] if _is_ours(path, disk) else [path]
            elif name.rstrip("0123456789-").endswith(SAVED_SUFFIX):
                found.append(directory / name)
    return found


def _is_stale(temp: Path, before: float, disk: Disk) -> bool:
    with suppress(OSError, FileRefusedError):
        return disk.stat(temp).st_ctime < before and _is_ours(temp, disk)
    return False


def _tracked(directory: Path) -> frozenset[str] | None:
    """The case-folded names of those temporary files that git tracks; None where git cannot say."""
    place = Path(os.path.realpath(directory))
    found = git.find_repository(place)
    return git.list_tracked(found.here, place, f"{TEMP_PREFIX}*") if found is not None else frozenset()


def _remove(temp: Path, disk: Disk) -> None:
    with suppress(OSError):
        disk.unlink(temp)


def _is_ours(temp: Path, disk: Disk) -> bool:
    if temp.suffix == ".new":
        return True
    seen = read_snapshot(temp, disk)
    return temp.suffix == ".old" and seen is not None and _digest(seen.data) in temp.stem.split("-")


def _refuse_odd(target: Path, found: os.stat_result) -> None:
    if not is_regular(found):
        raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
    if found.st_size > LIMIT:
        raise FileRefusedError(f"{target} is longer than {LIMIT >> 20} MB", "shorten it")


def _set_mode_and_owner(fd: int, like: os.stat_result | None, mode: int | None, disk: Disk) -> None:
    if like is not None:
        bits = like.st_mode & 0o7777
        mine = disk.fstat(fd)
        if (like.st_uid, like.st_gid) != (mine.st_uid, mine.st_gid):
            bits = _give_owner(fd, like, bits, disk)
        disk.chmod(fd, bits if mode is None else mode)
    elif mode is not None:
        disk.chmod(fd, mode)


def _give_owner(fd: int, like: os.stat_result, bits: int, disk: Disk) -> int:
    """Give the file the owner of the one that it replaces; return the mode to set.

    Only root may change a file's owner. Otherwise keep at least the group. If even that is not allowed, remove the
    group's permissions, because they were meant for another group.
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
    return target.parent / f"{TEMP_PREFIX}{os.urandom(8).hex()}.new"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
