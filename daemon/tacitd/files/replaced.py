"""The replaced file: new bytes appear under a name all at once, durably, or not at all.

How: a temporary file in the same directory, synced, renamed over the old one, the directory synced. Mode,
owner and the target of a symlink stay. Files that people edit too go through `edit`, which reads fresh,
changes, compares, swaps, and then looks at what it swapped out: whatever a person saved in between wins, and
ours is applied again on top of it. No format belongs here, and no knowledge of who wants what written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, make_dirs
from tacitd.files.temporary import Seen, look, removed_on_failure, swap_name, write_temp

TRIES = 5
"""How often an edit begins again, because somebody saved in between, before it gives up for now."""


class Lingering(Protocol):
    """Who looks once more at what was swapped out; `second_look.SecondLook` is one."""

    def keep(self, target: Path, old: Path, seen: bytes) -> None:
        """`old` names, for a moment still, what stood under `target` and said `seen`. Raises nothing."""
        ...


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
    change: Callable[[bytes | None], bytes | None],
    *,
    mode: int | None = None,
    disk: Disk | None = None,
    second: Lingering | None = None,
) -> bool:
    """Change a file that others edit too. True: it was changed.

    `change` is given the bytes (None: no such file) and returns the new ones, or None to leave the file
    alone; it must be a pure function, because it is called again when somebody saves in between (SPEC X-07). What was
    swapped out is given to `second`, because an editor may still write into it.
    Raises OSError, FileRefusedError from `change`, and FileRefusedError where somebody keeps saving.
    """
    disk = disk or RealDisk()
    target = disk.resolve(path)
    for _ in range(TRIES):
        seen = look(target, disk)
        before = seen.data if seen else None
        wanted = change(before)
        if wanted is None or wanted == before:
            return False
        make_dirs(target.parent, disk, private=mode is not None)
        if _brought_in(target, seen, wanted, mode, disk, second):
            return True
    raise FileRefusedError(f"{path}: someone keeps editing, it changed {TRIES} times while it was written")


def _brought_in(
    target: Path, seen: Seen | None, wanted: bytes, mode: int | None, disk: Disk, second: Lingering | None
) -> bool:
    """Bring `wanted` under the name. False: somebody was faster, and what they saved stands there."""
    temp = write_temp(target, [wanted], seen.stat if seen else None, mode, disk)
    with removed_on_failure(temp, disk):
        if not _unchanged(target, seen, disk):
            disk.unlink(temp)
            return False
        if seen is None:
            return _placed(temp, target, disk)
        old = swap_name(temp, wanted, seen.data)
        disk.replace(temp, old)
    with removed_on_failure(old, disk):
        return _swapped(old, target, seen, wanted, disk, second)


def _placed(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        disk.place(temp, target)
    except FileExistsError:
        disk.unlink(temp)
        return False
    disk.sync_dir(target.parent)
    return True


def _swapped(
    temp: Path, target: Path, seen: Seen, wanted: bytes, disk: Disk, second: Lingering | None
) -> bool:
    try:
        if not disk.exchange(temp, target):
            # No swap here: the comparison of a moment ago has to do.
            if second is not None:
                second.keep(target, target, seen.data)
            disk.replace(temp, target)
            disk.sync_dir(target.parent)
            return True
    except FileNotFoundError:
        disk.unlink(temp)
        return False
    out = look(temp, disk)
    if out is not None and out.data != seen.data:
        _put_back(temp, target, out.data, wanted, disk)
        return False
    disk.sync_dir(target.parent)
    if out is not None:
        if second is not None:
            second.keep(target, temp, seen.data)
        disk.unlink(temp)
    return True


def _put_back(temp: Path, target: Path, theirs: bytes, ours: bytes, disk: Disk) -> None:
    """`temp` holds what a person saved and `target` holds ours: change places until theirs stands again.

    Trigger: somebody saved between our comparison and our swap.
    Why: they may save once more while we put it back, so each round looks at what came out.
    Outcome: the newest of theirs stands under the name. Ours is removed; an older one of theirs stays in the
    temporary file, which no sweep removes.
    """
    standing, coming = ours, theirs
    for _ in range(TRIES):
        if not _back(temp, target, disk):
            return
        out = look(temp, disk)
        if out is None or out.data == standing:
            break
        standing, coming = coming, out.data
    if standing == ours:
        with suppress(FileNotFoundError):
            disk.unlink(temp)
    disk.sync_dir(target.parent)


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
