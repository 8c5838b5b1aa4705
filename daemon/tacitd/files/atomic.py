"""Replacing a file: a name gets new bytes all at once and durably, or not at all.

The new bytes go into a temporary file in the same directory, which is synced and renamed over the old file, and the directory is
synced. Mode, owner and the target of a symlink are kept (X-09). Files that people edit too are changed by `edit_file`: if a person
saved in between, their bytes are kept and the change is applied again to them (X-07, X-08).

A temporary file is `.tacitd-<random>.new` while it is written. Just before an exchange it is renamed to
`.tacitd-<random>-<digest>-<digest>.old`, with the digests of the bytes that tacitd wrote and of those that it read. After
a crash, a file of that name contains one of the two; otherwise it contains what a person saved at that moment, and is never
removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacitd.errors import FileRefusedError
from tacitd.files.disk import DISK, Disk, find_stat, is_regular, make_dirs, read_all, write_all
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tacitd.files.editors import Editors

__all__ = ["edit_file", "replace_file"]

TEMP_PREFIX = ".tacitd-"
"""The prefix of every temporary file of tacitd. Watchers ignore these files."""
SAVED_SUFFIX = ".tacitd-saved"
"""The end of the name of a copy with a person's text that is not in the file; a number may follow (editors.py)."""
STALE = 86_400.0
"""Seconds after which a temporary file counts as left over from a crash."""
SWEEP_EVERY = 3600.0
"""Minimum seconds between two looks for such files in one directory: it may have thousands of files."""
LIMIT = 16 << 20
"""Bytes: a file longer than this is refused, because it is read whole."""
TRIES = 5
"""How often an edit is tried. It starts again if the file was saved in between."""

_TEMP_NAME = compile_lazily(r"\.tacitd-[0-9a-f]{16}(?:\.new|(?:-[0-9a-f]{16}){2}\.old)")

_swept = dict[Path, float]()
"""When this process looked for temporary files in a directory."""

Change = Callable[[bytes | None], bytes | None]
"""Given a file's bytes (None: no such file), returns the new bytes, or None to leave the file unchanged. Pure."""


class FileSnapshot(NamedTuple):
    """A file as it was at one moment."""

    data: bytes
    stat: os.stat_result

    @property
    def identity(self) -> tuple[int, int, bytes]:
        """Differs after each save. The bytes too: two saves within a tick of the kernel's clock leave the same time."""
        return self.stat.st_ino, self.stat.st_mtime_ns, self.data


def read_snapshot(target: Path, disk: Disk = DISK) -> FileSnapshot | None:
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


def _refuse_odd(target: Path, found: os.stat_result) -> None:
    if not is_regular(found):
        raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
    if found.st_size > LIMIT:
        raise FileRefusedError(f"{target} is longer than {LIMIT >> 20} MB", "shorten it")


# --- files that only tacitd writes


def replace_file(path: Path, data: bytes, *, mode: int | None = None, disk: Disk = DISK) -> bool:
    """Make `data` the content of a file that only tacitd writes. False: it was already, and nothing was written.

    `mode` is for tacitd's own files (0o600; missing directories become 0700). Without it the file keeps the mode of the
    one it replaces; a new one gets its directory's mode without the execute bits. Raises OSError, and FileRefusedError
    if the path is not an ordinary file or its file is longer than 16 MB.
    """
    target = disk.resolve(path)
    seen = read_snapshot(target, disk)
    if seen is not None and seen.data == data and mode in (None, seen.stat.st_mode & 0o7777):
        return False
    make_dirs(target.parent, disk, private=mode is not None)
    temp = _write_temp(target, data, seen, mode, disk)
    with _removed_on_failure(temp, disk):
        disk.replace(temp, target)
    disk.sync_dir(target.parent)
    return True


# --- files that people edit too


def edit_file(
    path: Path, change: Change, *, mode: int | None = None, disk: Disk = DISK, editors: Editors | None = None
) -> bool:
    """Change a file that people edit too. Returns whether it was changed.

    `editors`: what is asked whether the file is open in one, and what gets each file that was swapped out; None for a person's own
    command. Raises OSError, FileRefusedError from `change` or if the file was saved in between `TRIES` times, and FileBusyError if
    it is being edited. After FileRefusedError and FileBusyError the file is as a person left it.
    """
    target = disk.resolve(path)
    for _ in range(TRIES):
        seen = read_snapshot(target, disk)
        if editors is not None:
            # Before `change`: it must not be applied to half of a file.
            editors.check_at_rest(target, seen)
        before = seen.data if seen else None
        wanted = change(before)
        if wanted is None or wanted == before:
            return False
        if editors is not None:
            # After `change`: a file that needs no change does not have to wait until its editor is closed.
            editors.check_marks(target)
        make_dirs(target.parent, disk, private=mode is not None)
        temp = _write_temp(target, wanted, seen, mode, disk)
        if editors is not None:
            editors.note_written(target, wanted)
        with _removed_on_failure(temp, disk):
            # Compared as late as possible: writing and syncing the temporary file takes milliseconds, in which a person
            # may save.
            now = read_snapshot(target, disk)
            if (now and now.identity) != (seen and seen.identity):
                disk.unlink(temp)
                continue
            if seen is None:
                try:
                    disk.place(temp, target)
                except FileExistsError:  # a person created it since
                    disk.unlink(temp)
                    continue
                disk.sync_dir(target.parent)
                return True
            old = temp.with_name(f"{temp.stem}-{_digest(wanted)}-{_digest(seen.data)}.old")
            disk.replace(temp, old)
        with _removed_on_failure(old, disk):
            if _swap(old, target, seen, wanted, disk, editors):
                return True
    raise FileRefusedError(f"{path}: someone keeps editing it; it changed {TRIES} times during the write")


def _swap(
    temp: Path, target: Path, seen: FileSnapshot, wanted: bytes, disk: Disk, editors: Editors | None
) -> bool:
    """Exchange `temp` and the file, and check what came out: a save between the comparison and a plain rename would be lost. False
    if that is not `seen`."""
    try:
        # RENAME_EXCHANGE needs both names (rename(2)), so a file that was removed meanwhile is not created again.
        if not disk.exchange(temp, target):
            # This file system cannot exchange. The comparison just before is the only check.
            if editors is not None:
                editors.keep_old_file(target, target, seen.data)
            disk.replace(temp, target)
            disk.sync_dir(target.parent)
            return True
    except FileNotFoundError:  # the file was removed since the comparison
        disk.unlink(temp)
        return False
    out = read_snapshot(temp, disk)
    if out is not None and out.data != seen.data:
        _put_back(temp, target, out.data, wanted, disk, editors)
        return False
    disk.sync_dir(target.parent)
    if out is not None:
        if editors is not None:
            editors.keep_old_file(target, temp, seen.data)
        disk.unlink(temp)
    return True


def _put_back(
    temp: Path, target: Path, theirs: bytes, ours: bytes, disk: Disk, editors: Editors | None
) -> None:
    """`temp` is what a person saved and the target is tacitd's: exchange them until the target is the person's, who may save again
    meanwhile. An older version of theirs stays in the temporary file; tacitd's is checked later, as an editor may have opened it."""
    current, incoming = ours, theirs
    for _ in range(TRIES):
        try:
            if not disk.exchange(temp, target):
                return
        except FileNotFoundError:
            # The file was removed after it was saved. The saved text is put back, unless there is a new file already.
            with suppress(FileExistsError):
                disk.place(temp, target)
            return
        out = read_snapshot(temp, disk)
        if out is None or out.data == current:
            break
        current, incoming = incoming, out.data
    if current == ours:
        if editors is not None:
            editors.keep_old_file(target, temp, ours)
        with suppress(FileNotFoundError):
            disk.unlink(temp)
    disk.sync_dir(target.parent)


def remove_empty(path: Path, disk: Disk = DISK) -> None:
    """Remove a file that a change left without a byte, durably: nothing of a person is in it. Raises OSError."""
    snapshot = read_snapshot(path, disk)
    if snapshot is not None and not snapshot.data:
        disk.unlink(path)
        disk.sync_dir(path.parent)


# --- temporary files


def _write_temp(target: Path, data: bytes, seen: FileSnapshot | None, mode: int | None, disk: Disk) -> Path:
    """Write and sync a temporary file beside `target`, with the owner that it will have, and with `mode`, or that of `seen`, or the
    directory's without the execute bits: a service's umask is too narrow for a project."""
    temp = target.parent / f"{TEMP_PREFIX}{os.urandom(8).hex()}.new"
    fd = disk.open_new(temp, 0o600)
    with _removed_on_failure(temp, disk):
        try:
            write_all(fd, data, disk)
            if seen is not None:
                kept = _keep_owner(fd, seen.stat, disk)
            else:
                kept = disk.stat(target.parent).st_mode & 0o666
            disk.chmod(fd, kept if mode is None else mode)
            # Before the file gets its name: a rename may be durable before the bytes are (fsync(2)).
            disk.sync(fd)
            now = disk.fstat(fd).st_ctime
            if abs(now - _swept.get(target.parent, 0.0)) >= SWEEP_EVERY:
                _swept[target.parent] = now
                sweep_temporary(target.parent, now - STALE, disk)
        finally:
            disk.close(fd)
    return temp


def _keep_owner(fd: int, like: os.stat_result, disk: Disk) -> int:
    """Give the file the owner of the one that it replaces, or at least its group; return the mode to set. Without the group, its
    permissions are removed, because they were meant for another one."""
    mode, mine = like.st_mode & 0o7777, disk.fstat(fd)
    if (like.st_uid, like.st_gid) == (mine.st_uid, mine.st_gid):
        return mode
    for uid in (like.st_uid, -1):
        try:
            disk.chown(fd, uid, like.st_gid)
        except PermissionError:
            mode &= 0o777
        else:
            return mode
    return mode & 0o707


@contextmanager
def _removed_on_failure(temp: Path, disk: Disk) -> Iterator[None]:
    """If the block raises, remove the temporary file, unless it contains a person's text."""
    try:
        yield
    except BaseException:
        with suppress(OSError, FileRefusedError):
            if _is_ours(temp, disk):
                disk.unlink(temp)
        raise


def _is_ours(temp: Path, disk: Disk) -> bool:
    if _TEMP_NAME.fullmatch(temp.name) is None:
        return False
    seen = read_snapshot(temp, disk) if temp.suffix == ".old" else None
    return temp.suffix == ".new" or (seen is not None and _digest(seen.data) in temp.stem.split("-"))


def sweep_temporary(directory: Path, before: float, disk: Disk = DISK) -> None:
    """Remove tacitd's temporary files whose last change is older than `before` (seconds since 1970). Never raises."""
    with suppress(OSError):
        for name in disk.names(directory):
            if name.startswith(TEMP_PREFIX):
                with suppress(OSError, FileRefusedError):
                    # By change time (inode(7)): a backup that restores files sets their modification time, and not this one.
                    found = find_stat(directory / name, disk)
                    if found is not None and found.st_ctime < before and _is_ours(directory / name, disk):
                        disk.unlink(directory / name)


def list_kept_copies(directory: Path, disk: Disk = DISK) -> list[Path]:
    """The files in a directory with text that a person saved during a swap or soon after. Never raises."""
    found: list[Path] = []
    with suppress(OSError):
        for name in sorted(disk.names(directory)):
            if name.startswith(TEMP_PREFIX) and name.endswith(".old"):
                with suppress(OSError, FileRefusedError):
                    found += [] if _is_ours(directory / name, disk) else [directory / name]
            elif name.rstrip("0123456789-").endswith(SAVED_SUFFIX):
                found.append(directory / name)
    return found


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
