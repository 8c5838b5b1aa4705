"""Files that are being edited now, and how long a change waits for them (X-08).

An editor that saves in place truncates the file and then writes it. A read in between returns a part of the file, or
nothing. An editor that has a file open also warns its user if the file changes on disk (vim: W11, W12). So before a file
that people edit too is changed:

- A file that became empty or shorter, or that disappeared, within the last second waits until it is unchanged for a
  second, at most five seconds. So does a file that changed during the check. (Some editors remove or rename the old file
  before they write the new one.)
- A file that an editor has open waits until it is closed, at most ten minutes. If the editor's lock names a process of
  this machine, the lock counts while that process runs. Otherwise it counts while it is younger than ten minutes, or one
  second if it is of a kind that editors remove at once.

After these limits the file is changed anyway. That is safe: a change is compare-and-swap (replaced.py), and what an
editor writes into the old file later is recovered (late_writes.py). Waiting only avoids the visible effects.

Modification times come from the file system's clock, so an age is measured against the modification time of a new
temporary file in the same directory. If that gives no usable age because a clock was set, the same state must be seen
twice, a second apart by the monotonic clock. All other times are monotonic. Only this process's earlier checks tell what
a file was before: a half-written file is changed if it is seen for the first time, and completed later.

Deciding whether a file is busy belongs here. Finding the editors' lock files is in editor_locks.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import FileBusyError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.editor_locks import EditorLock, find_editor_locks, is_held, process_is_alive
from tacitd.files.temporary import read_file_system_time

REST = 1.0
"""Seconds for which a file must be unchanged."""
RESTLESS_LIMIT = 5.0
"""Longest wait, in seconds, for a file that keeps changing."""
PATIENCE = 600.0
"""Longest wait, in seconds, for a file that is open in an editor."""
OPEN_FOR = 600.0
"""Seconds after `PATIENCE` in which the same file does not wait again, because one work item may need several edits."""
AGAIN = 5.0
"""Seconds between two checks of a file that is open in an editor."""
T = TypeVar("T")

_Identity = tuple[int, int, int] | None
"""Inode, size, modification time in ns; None: there is no file."""


class BusyFile(Struct, frozen=True):
    """A file whose change waits because an editor has it open."""

    path: Path
    editor: str
    lock: Path
    since: float
    """Monotonic seconds: when the change was first delayed."""


class _State(Struct, frozen=True):
    """What a file was when it was last seen."""

    identity: _Identity
    suspect: bool
    """Whether it may be half written. If so, a change waits until the file is unchanged for a second."""
    at: float
    """Monotonic seconds: when it was first seen like this."""
    changed_ns: int = 0
    """When it changed, in ns since 1970 by the file system's clock; for a missing file, when its directory changed.
    Stored, because measuring an age creates a file in the directory and so changes the directory's own time."""


class BusyFiles:
    """Knows which files are being edited. Thread-safe."""

    def __init__(
        self,
        clock: Clock,
        disk: Disk | None = None,
        *,
        is_alive: Callable[[int], bool] = process_is_alive,
        host: str | None = None,
        swap_directories: Sequence[Path] = (),
    ) -> None:
        """`swap_directories`: where vim keeps swap files under whole paths. `host`: this machine's name."""
        self._clock = clock
        self._disk = disk or RealDisk()
        self._is_alive = is_alive
        self._host = os.uname().nodename if host is None else host
        self._swap_directories = tuple(swap_directories)
        self._mutex = threading.Lock()
        self._states: dict[Path, _State] = {}
        self._restless_since: dict[Path, float] = {}
        self._waiting: dict[Path, BusyFile] = {}
        self._open_until: dict[Path, float] = {}
        self._lock_ages: dict[Path, tuple[int, float, float]] = {}
        """By lock file: its modification time in ns, its age in seconds at that check, and the check's monotonic time."""

    def check_file(self, target: Path, seen: os.stat_result | None) -> None:
        """Given the real path of a file and its stat (None: no such file), raise FileBusyError if it is being edited."""
        self.check_at_rest(target, seen)
        self.check_editors(target)

    def check_at_rest(self, target: Path, seen: os.stat_result | None) -> None:
        """Raise FileBusyError if the file became empty, shorter or missing within the last second, or if it changed
        during an earlier check."""
        with self._mutex:
            now = self._clock.monotonic()
            if self._is_at_rest(target, seen, now):
                self._restless_since.pop(target, None)
                return
            since = self._restless_since.setdefault(target, now)
            if now - since >= RESTLESS_LIMIT:
                self._restless_since.pop(target, None)
                return
        raise FileBusyError(f"{target} is just being written", "retried in a second", seconds=REST)

    def check_editors(self, target: Path) -> None:
        """Raise FileBusyError if an editor has the file open and the wait is shorter than `PATIENCE` so far."""
        locks = find_editor_locks(target, self._disk, self._swap_directories)
        with self._mutex:
            now = self._clock.monotonic()
            lock = next((each for each in locks if self._counts(each, now)), None)
            if lock is None:
                self._waiting.pop(target, None)
                self._open_until.pop(target, None)
                return
            if now < self._open_until.get(target, now):
                return
            self._open_until.pop(target, None)
            waiting = self._waiting.get(target) or BusyFile(target, lock.editor, lock.path, now)
            self._waiting[target] = waiting
            if now - waiting.since >= PATIENCE:
                self._waiting.pop(target)
                self._open_until[target] = now + OPEN_FOR
                return
        raise FileBusyError(
            f"{target} is open in {lock.editor}",
            f"close the file to have it written now; otherwise it is written within {PATIENCE / 60:.0f} minutes",
            seconds=AGAIN,
            editor=lock.editor,
        )

    def note_written(self, target: Path, wrote: os.stat_result) -> None:
        """Record a file that tacitd wrote, so that it does not count as being edited if it is shorter now."""
        with self._mutex:
            self._states[target] = _State(_identify(wrote), False, self._clock.monotonic())

    def note_removed(self, target: Path) -> None:
        """Remember a file that tacitd removed: that it is missing now is nobody's editing."""
        with self._mutex:
            self._states[target] = _State(None, False, self._clock.monotonic())

    def note_changed(self, target: Path) -> None:
        """Record that a file changed during a check. It counts as half written until it is unchanged for a second."""
        with self._mutex:
            before = self._states.get(target)
            identity = before.identity if before is not None else None
            self._states[target] = _State(identity, True, self._clock.monotonic())

    def list_waiting(self) -> tuple[BusyFile, ...]:
        """The files whose changes wait now because an editor has them open."""
        with self._mutex:
            now = self._clock.monotonic()
            waiting = [each for each in self._waiting.values() if now - each.since <= PATIENCE]
        return tuple(each for each in waiting if self._is_there(each.lock))

    def _is_at_rest(self, target: Path, seen: os.stat_result | None, now: float) -> bool:
        identity, before = _identify(seen), self._states.get(target)
        if before is None or before.identity != identity:
            changed = seen.st_mtime_ns if seen is not None else self._directory_changed(target)
            before = _State(identity, _may_be_part(before, identity), now, changed)
            self._states[target] = before
        if before.suspect and now - before.at < REST:
            age = self._measure_age(target.parent, before.changed_ns)
            if age is not None and age < REST:
                return False
        self._states[target] = replace(before, suspect=False)
        return True

    def _directory_changed(self, target: Path) -> int:
        try:
            return self._disk.stat(target.parent).st_mtime_ns
        except OSError:
            return 0  # without a directory, no editor is about to write a file in it

    def _measure_age(self, directory: Path, changed_ns: int) -> float | None:
        """Seconds since `changed_ns` by the file system's clock; None if no file can be created there."""
        now = read_file_system_time(directory, self._disk)
        return None if now is None else (now - changed_ns) / 1e9

    def _counts(self, lock: EditorLock, now: float) -> bool:
        held = None if lock.brief else is_held(lock, self._host, self._is_alive)
        if held is not None:
            return held
        return self._lock_age(lock, now) < (REST if lock.brief else PATIENCE)

    def _lock_age(self, lock: EditorLock, now: float) -> float:
        """Seconds since the lock was written. A lock that changed between two checks has age 0, whatever its time is."""
        before = self._lock_ages.get(lock.path)
        if before is None:
            age = self._measure_age(lock.path.parent, lock.changed_ns)
            # The clock was set back after a lock with a future time was written, so its age starts at 0.
            before = lock.changed_ns, max(0.0, age or 0.0), now
        elif before[0] != lock.changed_ns:
            before = lock.changed_ns, 0.0, now
        self._lock_ages[lock.path] = before
        return before[1] + now - before[2]

    def _is_there(self, path: Path) -> bool:
        try:
            self._disk.stat(path)
        except OSError:
            return False
        return True


def retry_while_changing(work: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Call `work` and return its result; retry for `RESTLESS_LIMIT` seconds while it raises FileBusyError for a file
    that just changed. For a file that is open in an editor the error is raised at once. Raises what `work` raised last.
    """
    slept = 0.0
    while True:
        try:
            return work()
        except FileBusyError as busy:
            if busy.editor or slept >= RESTLESS_LIMIT:
                raise
            sleep(busy.seconds)
            slept += busy.seconds


def _identify(stat: os.stat_result | None) -> _Identity:
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat is not None else None


def _may_be_part(before: _State | None, identity: _Identity) -> bool:
    """Given a file's previous and present state, return whether an editor may still be writing it.

    A file that is missing, empty or shorter than before may be between an editor's truncation or removal and its write.
    """
    if identity is None:
        return before is not None and before.identity is not None
    if identity[1] == 0:
        return True
    if before is None or before.identity is None:
        return before is not None and before.suspect
    return before.suspect or identity[1] < before.identity[1]
