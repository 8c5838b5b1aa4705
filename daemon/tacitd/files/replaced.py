"""The replaced file: new bytes appear under a name all at once, durably, or not at all.

How: a temporary file in the same directory, synced, renamed over the old one, the directory synced. Mode,
owner and the target of a symlink stay. Files that people edit too go through `edit`, which reads fresh,
changes, compares, swaps, and then looks at what it swapped out: whatever a person saved in between wins, and
ours is applied again on top of it. With `EditGuards` it also waits for a file that is being edited (busy.py) and
looks later at what was swapped out (second_look.py). No format belongs here, and no knowledge of who wants what
written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tacitd.errors import FileRefusedError
from tacitd.files.busy import BusyFiles
from tacitd.files.disk import Disk, RealDisk, make_dirs
from tacitd.files.temporary import Seen, look, removed_on_failure, swap_name, write_temp

TRIES = 5
"""How often an edit begins again, because somebody saved in between, before it gives up for now."""


Change = Callable[[bytes | None], bytes | None]
"""Given a file's bytes (None: no such file), returns the new ones, or None to leave the file alone. Pure."""


class Lingering(Protocol):
    """What looks once more at a file that was swapped out; `second_look.SecondLook` is one."""

    def keep(self, target: Path, old: Path, seen: bytes, change: Change, wrote: bytes) -> None:
        """Keep the file with the name `old`, which it is about to lose. Raises nothing.

        Its bytes were `seen`; the file `target` is `wrote` now, which `change` made of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class EditGuards:
    """What protects the people who edit a file too. Empty: compare-and-swap alone, as for a person's own command."""

    second: Lingering | None = None
    """Is given what was swapped out, because an editor may still write into it."""
    busy: BusyFiles | None = None
    """Is asked before each change whether the file is being edited."""


UNGUARDED = EditGuards()


def leave_unchanged(data: bytes | None) -> bytes | None:
    """The change that changes nothing."""
    return data


def replace(path: Path, data: bytes, *, mode: int | None = None, disk: Disk | None = None) -> bool:
    """Make `data` the content of a file that is ours alone. False: it already was, and nothing was touched.

    `mode` is for tacitd's own files (0o600; missing directories become 0700). Without it the file keeps the
    mode of the one it replaces, or follows the umask. Raises OSError, and FileRefusedError where the path is
    something else than an ordinary file.
    """
    disk = disk or RealDisk()
    target = disk.resolve(path)
    seen = look(target, disk)
    if seen is not None and seen.data == data and mode in (None, seen.stat.st_mode & 0o7777):
        return False
    make_dirs(target.parent, disk, private=mode is not None)
    temp = write_temp(target, [data], seen.stat if seen else None, mode, disk)
    with removed_on_failure(temp, disk):
        disk.replace(temp, target)
    disk.sync_dir(target.parent)
    return True


def edit(
    path: Path,
    change: Change,
    *,
    mode: int | None = None,
    disk: Disk | None = None,
    second: Lingering | None = None,
    guards: EditGuards = UNGUARDED,
) -> bool:
    """Change a file that others edit too. True: it was changed.

    `change` is called again when somebody saves in between (SPEC X-07). `second` is short for guards with nothing but it.
    Raises OSError, FileRefusedError from `change`, FileRefusedError where somebody keeps saving, and FileBusyError
    where the guards say that the file is being edited: nothing was changed then.
    """
    guards = EditGuards(second, guards.busy) if second is not None else guards
    made = _Edit(path, change, mode, disk or RealDisk(), guards)
    for _ in range(TRIES):
        done = made.try_once()
        if done is not None:
            return done
    raise FileRefusedError(f"{path}: someone keeps editing, it changed {TRIES} times while it was written")


class _Edit:
    """One edit, tried until nobody saves in between."""

    def __init__(self, path: Path, change: Change, mode: int | None, disk: Disk, guards: EditGuards) -> None:
        self._target = disk.resolve(path)
        self._change = change
        self._mode = mode
        self._disk = disk
        self._guards = guards

    def try_once(self) -> bool | None:
        """Whether it was changed; None: somebody was faster, and what they saved is in the file."""
        seen = look(self._target, self._disk)
        if self._guards.busy is not None:
            self._guards.busy.check_at_rest(self._target, seen.stat if seen else None)
        before = seen.data if seen else None
        wanted = self._change(before)
        if wanted is None or wanted == before:
            return False
        if self._guards.busy is not None:
            self._guards.busy.check_editors(self._target)
        make_dirs(self._target.parent, self._disk, private=self._mode is not None)
        if self._bring_in(seen, wanted):
            return True
        if self._guards.busy is not None:
            self._guards.busy.note_changed(self._target)
        return None

    def _bring_in(self, seen: Seen | None, wanted: bytes) -> bool:
        """Bring `wanted` under the name. False: somebody was faster."""
        target, disk = self._target, self._disk
        temp = write_temp(target, [wanted], seen.stat if seen else None, self._mode, disk)
        with removed_on_failure(temp, disk):
            made = disk.stat(temp)
            if not _unchanged(target, seen, disk):
                disk.unlink(temp)
                return False
            old = swap_name(temp, wanted, seen.data) if seen is not None else temp
            if seen is not None:
                disk.replace(temp, old)
        with removed_on_failure(old, disk):
            done = _placed(old, target, disk) if seen is None else self._swap(old, seen, wanted)
        if done and self._guards.busy is not None:
            self._guards.busy.note_written(target, made)
        return done

    def _swap(self, temp: Path, seen: Seen, wanted: bytes) -> bool:
        target, disk = self._target, self._disk
        try:
            if not disk.exchange(temp, target):
                # No swap here: the comparison of a moment ago has to do.
                self._keep(target, seen, wanted)
                disk.replace(temp, target)
                disk.sync_dir(target.parent)
                return True
        except FileNotFoundError:
            disk.unlink(temp)
            return False
        out = look(temp, disk)
        if out is not None and out.data != seen.data:
            self._put_back(temp, out.data, wanted)
            return False
        disk.sync_dir(target.parent)
        if out is not None:
            self._keep(temp, seen, wanted)
            disk.unlink(temp)
        return True

    def _keep(self, old: Path, seen: Seen, wanted: bytes) -> None:
        if self._guards.second is not None:
            self._guards.second.keep(self._target, old, seen.data, self._change, wanted)

    def _put_back(self, temp: Path, theirs: bytes, ours: bytes) -> None:
        """`temp` is what a person saved and the target is ours: exchange them until the target is theirs again.

        Trigger: somebody saved between our comparison and our swap.
        Why: they may save once more while we put it back, so each round looks at what came out.
        Outcome: the newest of theirs has the name. Ours is removed, and looked at later, because somebody may have
        opened it while it had the name; an older one of theirs stays in the temporary file, which no sweep removes.
        """
        target, disk = self._target, self._disk
        standing, coming = ours, theirs
        for _ in range(TRIES):
            if not _back(temp, target, disk):
                return
            out = look(temp, disk)
            if out is None or out.data == standing:
                break
            standing, coming = coming, out.data
        if standing == ours:
            if self._guards.second is not None:
                self._guards.second.keep(target, temp, ours, leave_unchanged, coming)
            with suppress(FileNotFoundError):
                disk.unlink(temp)
        disk.sync_dir(target.parent)


def _placed(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        disk.place(temp, target)
    except FileExistsError:
        disk.unlink(temp)
        return False
    disk.sync_dir(target.parent)
    return True


def _back(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        return disk.exchange(temp, target)
    except FileNotFoundError:
        # The file was removed, too, after it was saved. What was saved is still somebody's words: back with it,
        # unless something new stands there already.
        with suppress(FileExistsError):
            disk.place(temp, target)
        return False


def _unchanged(target: Path, seen: Seen | None, disk: Disk) -> bool:
    now = look(target, disk)
    if now is None or seen is None:
        return now is seen
    return _identity(now.stat) == _identity(seen.stat) and now.data == seen.data


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
