"""Files that are being edited right now, and how long tacitd waits for them.

An editor that saves in place truncates the file and then writes it. Whoever reads in between sees a part, or nothing. And
an editor that has a file open warns its user if the file changes under it (vim: W11, W12). So before a file that people
edit too is changed:

- a file that became empty, became shorter or disappeared within the last second waits until it is unchanged for a second,
  five seconds at most; so does one that changed while it was looked at. (Some editors remove or rename the old file before
  they write the new one.)
- a file that an editor has open waits until it is closed, ten minutes at most. An editor counts as running while the
  process runs that its lock names. A lock that names no process of this machine counts while it is younger than ten
  minutes, and one that editors remove within a moment while it is younger than a second.

After these times the file is changed all the same. That is safe, because a change is compare-and-swap (replaced.py) and
what is written into the old file afterwards is brought in (second_look.py). Waiting only avoids what people would notice.

What "within the last second" is measured with: modification times are the file system's, so they are compared with the
modification time of a new temporary file there. Where that says nothing, because a clock was set, the same state has to
be seen at two looks that are a second apart by the monotonic clock. All other times are monotonic. What a file was before
is known from earlier looks of this process; a part of a file that is seen first is changed, and completed later.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tacitd.clock import Clock
from tacitd.errors import FileBusyError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.editor_locks import EditorLock, find_editor_locks, is_held, process_is_alive
from tacitd.files.temporary import read_file_system_time

REST = 1.0
"""Seconds for which a file must be unchanged."""
RESTLESS_LIMIT = 5.0
"""Seconds for which a file that keeps changing is waited for."""
PATIENCE = 600.0
"""Seconds for which a file that is open in an editor is waited for."""
OPEN_FOR = 600.0
"""Seconds after `PATIENCE` in which the same file is not waited for again: one piece of work may need several edits."""
AGAIN = 5.0
"""Seconds between two looks at a file that is open in an editor."""
T = TypeVar("T")

_Identity = tuple[int, int, int] | None
"""Inode, size, modification time in ns; None: there is no file."""


@dataclass(frozen=True, slots=True)
class BusyFile:
    """A file whose change waits because an editor has it open."""

    path: Path
    editor: str
    lock: Path
    since: float
    """Monotonic seconds: when the change was first put off."""


@dataclass(frozen=True, slots=True)
class _State:
    """What a file was when it was last seen."""

    identity: _Identity
    suspect: bool
    """Whether it may be half written: it is waited for until it is unchanged for a second."""
    at: float
    """Monotonic seconds: when it was first seen like this."""
    changed_ns: int = 0
    """When it changed, by the file system's clock: of a missing file, when its directory did. Looking at the clock
    changes the directory, so that is only asked once."""


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
        """By lock file: its modification time, its age when that was seen, and when (monotonic)."""

    def check(self, target: Path, seen: os.stat_result | None) -> None:
        """Given the real path of a file and its stat (None: no such file), raise FileBusyError if it is being edited."""
        self.check_at_rest(target, seen)
        self.check_editors(target)

    def check_at_rest(self, target: Path, seen: os.stat_result | None) -> None:
        """Raise FileBusyError if the file became empty, shorter or missing within the last second, or changed while it
        was looked at."""
        with self._mutex:
            now = self._clock.monotonic()
            if self._is_at_rest(target, seen, now):
                self._restless_since.pop(target, None)
                return
            since = self._restless_since.setdefault(target, now)
            if now - since >= RESTLESS_LIMIT:
                self._restless_since.pop(target, None)
                return
        raise FileBusyError(f"{target} is just being written", "it is tried again in a second", seconds=REST)

    def check_editors(self, target: Path) -> None:
        """Raise FileBusyError if an editor has the file open, and it was not waited for long enough."""
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
            f"close it, and its lines are written; otherwise within {PATIENCE / 60:.0f} minutes",
            seconds=AGAIN,
            editor=lock.editor,
        )

    def note_written(self, target: Path, wrote: os.stat_result) -> None:
        """Remember a file that tacitd wrote: that it is shorter now is nobody's editing."""
        with self._mutex:
            self._states[target] = _State(_identify(wrote), False, self._clock.monotonic())

    def note_changed(self, target: Path) -> None:
        """Remember that somebody changed a file while it was looked at: there may be more to come."""
        with self._mutex:
            before = self._states.get(target)
            identity = before.identity if before is not None else None
            self._states[target] = _State(identity, True, self._clock.monotonic())

    def list_waiting(self) -> tuple[BusyFile, ...]:
        """The files that are waited for now because an editor has them open."""
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
            return 0  # no directory: nobody is about to write a file in it

    def _measure_age(self, directory: Path, changed_ns: int) -> float | None:
        """Seconds since `changed_ns` by the file system's clock; None if nothing can be written there."""
        now = read_file_system_time(directory, self._disk)
        return None if now is None else (now - changed_ns) / 1e9

    def _counts(self, lock: EditorLock, now: float) -> bool:
        held = None if lock.brief else is_held(lock, self._host, self._is_alive)
        if held is not None:
            return held
        return self._lock_age(lock, now) < (REST if lock.brief else PATIENCE)

    def _lock_age(self, lock: EditorLock, now: float) -> float:
        """Seconds since the lock was written. One that changed between two looks is new, whatever clocks say."""
        before = self._lock_ages.get(lock.path)
        if before is None:
            age = self._measure_age(lock.path.parent, lock.changed_ns)
            # A lock from the future was written before a clock was set back: its age begins now.
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
    """Return what `work` returns; try it again for a few seconds while it raises FileBusyError for a file that changed
    a moment ago. For a file that is open in an editor it is raised at once. Raises what `work` raised last.
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
    """Given what a file was and is, return whether an editor may be about to write (the rest of) it."""
    if identity is None:
        return before is not None and before.identity is not None
    if identity[1] == 0:
        return True
    if before is None or before.identity is None:
        return before is not None and before.suspect
    return before.suspect or identity[1] < before.identity[1]
