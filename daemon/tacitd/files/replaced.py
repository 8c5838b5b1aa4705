"""The replaced file: a name gets new bytes all at once and durably, or not at all.

A temporary file in the same directory is synced and renamed over the old file, and the directory is synced. Mode, owner
and the target of a symlink are kept (X-09).

Files that people edit too are changed by `edit_file`: read, change, compare, swap, and check what was swapped out. If a person
saved in between, their bytes are kept and the change is applied again to them (X-07, X-08). With `EditGuards`, `edit_file`
also waits for a file that is being edited (busy_files.py), and what was swapped out is checked again later (late_writes.py).

Formats do not belong here, and neither does the choice of what is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, make_dirs
from tacitd.files.temporary import FileSnapshot, read_snapshot, removed_on_failure, swap_name, write_temp

if TYPE_CHECKING:
    from tacitd.files.busy_files import BusyFiles

TRIES = 5
"""How often an edit is tried. It starts again if the file was saved in between."""


Change = Callable[[bytes | None], bytes | None]
"""Given a file's bytes (None: no such file), returns the new bytes, or None to leave the file unchanged. Pure."""


class OldFileKeeper(Protocol):
    """Checks a file again after it was swapped out; implemented by `late_writes.LateWrites`."""

    def keep_old_file(self, target: Path, old: Path, seen: bytes) -> None:
        """Keep a descriptor of `target`'s old file, whose name `old` is about to be removed and whose bytes were `seen`.
        Raises nothing."""
        ...


class EditGuards(Struct, frozen=True):
    """Protection for people who edit the same file. Empty: only compare-and-swap, as for a person's own command."""

    late_writes: OldFileKeeper | None = None
    """Gets each file that was swapped out, because an editor may still write into it."""
    busy_files: BusyFiles | None = None
    """Checked before each change: whether the file is being edited."""


UNGUARDED = EditGuards()


def replace_file(
    path: Path, data: bytes, *, mode: int | None = None, disk: Disk | None = None, durable: bool = True
) -> bool:
    """Make `data` the content of a file that only tacitd writes. False: it was already, and nothing was written.

    `durable` False is for what can be derived again: a crash of tacitd leaves the whole old or the whole new file, and after
    a power cut it may be either of them, or empty.

    `mode` is for tacitd's own files (0o600; missing directories become 0700). Without it the file keeps the mode of the
    one it replaces; a new one gets its directory's mode without the execute bits. Raises OSError, and FileRefusedError
    if the path is not an ordinary file or its file is longer than 16 MB.
    """
    disk = disk or RealDisk()
    target = disk.resolve(path)
    seen = read_snapshot(target, disk)
    if seen is not None and seen.data == data and mode in (None, seen.stat.st_mode & 0o7777):
        return False
    make_dirs(target.parent, disk, private=mode is not None)
    _put_in_place(target, [data], seen.stat if seen else None, mode, disk, durable=durable)
    return True


def _put_in_place(
    target: Path,
    parts: Iterable[bytes],
    like: os.stat_result | None,
    mode: int | None,
    disk: Disk,
    *,
    durable: bool = True,
) -> None:
    temp = write_temp(target, parts, like, mode, disk, durable=durable)
    with removed_on_failure(temp, disk):
        # rename(2) is atomic: whoever opens the name gets the whole old or the whole new file.
        disk.replace(temp, target)
    if durable:
        # rename(2) is atomic, but lasts over a power cut only after the directory was synced (fsync(2)).
        disk.sync_dir(target.parent)


def edit_file(
    path: Path,
    change: Change,
    *,
    mode: int | None = None,
    disk: Disk | None = None,
    guards: EditGuards = UNGUARDED,
) -> bool:
    """Change a file that people edit too. Returns whether it was changed.

    `change` is called again if the file is saved in between (X-07). Raises
    OSError, FileRefusedError from `change` or if the file was saved in between `TRIES` times, and FileBusyError if the
    guards find that the file is being edited. After FileRefusedError and FileBusyError the file is as a person left it.
    """
    made = _Edit(path, change, mode, disk or RealDisk(), guards)
    for _ in range(TRIES):
        done = made.try_once()
        if done is not None:
            return done
    raise FileRefusedError(f"{path}: someone keeps editing it; it changed {TRIES} times during the write")


class _Edit:
    """One edit of one file; `try_once` is repeated until the file is not saved in between."""

    def __init__(self, path: Path, change: Change, mode: int | None, disk: Disk, guards: EditGuards) -> None:
        self._target = disk.resolve(path)
        self._change = change
        self._mode = mode
        self._disk = disk
        self._guards = guards

    def try_once(self) -> bool | None:
        """Whether it was changed; None if the file was saved in between, and so has those bytes."""
        seen = read_snapshot(self._target, self._disk)
        if self._guards.busy_files is not None:
            # Before `change`: it must not be applied to half of a file.
            self._guards.busy_files.check_at_rest(self._target, seen.stat if seen else None)
        before = seen.data if seen else None
        wanted = self._change(before)
        if wanted is None or wanted == before:
            return False
        if self._guards.busy_files is not None:
            # After `change`: a file that needs no change does not have to wait until its editor is closed.
            self._guards.busy_files.check_editors(self._target)
        make_dirs(self._target.parent, self._disk, private=self._mode is not None)
        return True if self._bring_in(seen, wanted) else None

    def _bring_in(self, seen: FileSnapshot | None, wanted: bytes) -> bool:
        """Put `wanted` into the file. False if the file was saved in between.

        Just before the swap the temporary file gets a name with the digests of both contents. If the process ends
        during the swap, the name shows whether that file contains only known bytes or what a person saved
        (temporary.py).
        """
        target, disk = self._target, self._disk
        temp = write_temp(target, [wanted], seen.stat if seen else None, self._mode, disk)
        with removed_on_failure(temp, disk):
            # Compared as late as possible: writing and syncing the temporary file takes milliseconds, in which a person
            # may save.
            if not _is_unchanged(target, seen, disk):
                disk.unlink(temp)
                return False
            old = swap_name(temp, wanted, seen.data) if seen is not None else temp
            if seen is not None:
                disk.replace(temp, old)
        with removed_on_failure(old, disk):
            return _place_new(old, target, disk) if seen is None else self._swap(old, seen, wanted)

    def _swap(self, temp: Path, seen: FileSnapshot, wanted: bytes) -> bool:
        """Exchange `temp` and the file, and check what came out. False if that is not `seen`.

        A save between the comparison and a plain rename would be lost without a trace. An exchange is atomic and keeps
        the old file under the other name, so such a save is found and put back.
        """
        target, disk = self._target, self._disk
        try:
            # RENAME_EXCHANGE needs both names (rename(2)), so a file that was removed meanwhile is not created again.
            if not disk.exchange(temp, target):
                # This file system cannot exchange. The comparison just before is the only check.
                self._keep(target, seen.data)
                disk.replace(temp, target)
                disk.sync_dir(target.parent)
                return True
        except FileNotFoundError:  # the file was removed since the comparison
            disk.unlink(temp)
            return False
        out = read_snapshot(temp, disk)
        if out is not None and out.data != seen.data:
            self._put_back(temp, out.data, wanted)
            return False
        disk.sync_dir(target.parent)
        if out is not None:
            self._keep(temp, seen.data)
            disk.unlink(temp)
        return True

    def _keep(self, old: Path, data: bytes) -> None:
        if self._guards.late_writes is not None:
            self._guards.late_writes.keep_old_file(self._target, old, data)

    def _put_back(self, temp: Path, theirs: bytes, ours: bytes) -> None:
        """`temp` is what a person saved and the target is tacitd's: exchange them until the target is the person's.

        Trigger: the file was saved between the comparison and the swap.
        Why: it may be saved again while it is put back, so each round checks what came out.
        Outcome: the person's newest version has the name. Tacitd's version is removed, and checked again later, because
        an editor may have opened it while it had the name. An older version of the person stays in the temporary file,
        which no sweep removes.
        """
        target, disk = self._target, self._disk
        current, incoming = ours, theirs
        for _ in range(TRIES):
            if not _exchange_back(temp, target, disk):
                return
            out = read_snapshot(temp, disk)
            if out is None or out.data == current:
                break
            current, incoming = incoming, out.data
        if current == ours:
            self._keep(temp, ours)
            with suppress(FileNotFoundError):
                disk.unlink(temp)
        disk.sync_dir(target.parent)


def _place_new(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        # RENAME_NOREPLACE (rename(2)): a file that a person created since is not overwritten.
        disk.place(temp, target)
    except FileExistsError:
        disk.unlink(temp)
        return False
    disk.sync_dir(target.parent)
    return True


def _exchange_back(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        return disk.exchange(temp, target)
    except FileNotFoundError:
        # The file was removed after it was saved. The saved text is put back, unless there is a new file already.
        with suppress(FileExistsError):
            disk.place(temp, target)
        return False


def _is_unchanged(target: Path, seen: FileSnapshot | None, disk: Disk) -> bool:
    now = read_snapshot(target, disk)
    if now is None or seen is None:
        return now is seen
    # The bytes too: two saves within one tick of the kernel's clock (4 ms) leave the same time and maybe size.
    return _identity(now.stat) == _identity(seen.stat) and now.data == seen.data


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
