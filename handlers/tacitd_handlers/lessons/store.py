"""The lessons on disk: the log, its lock, and the index made from it (SPEC E-20 to E-25).

Every change holds one lock: read the log, decide, append one record, sync it, then rebuild the index. So ids have no
gaps and are never reused, also with other writers. The log never loses a line; the index can be deleted at any time.
The operations are in `lesson_operations.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tacitd.clock import Clock, SystemClock, local_date
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, make_dirs, read_all
from tacitd.files.locks import wait_for_lock
from tacitd.files.log import Log, encode_record
from tacitd.files.replaced import replace_file
from tacitd.files.write_checks import refuse_other_name
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.lessons import lesson_index, lesson_paths
from tacitd_handlers.lessons.lesson_fold import FoldedLessons
from tacitd_handlers.lessons.lesson_index import LessonIndex
from tacitd_handlers.lessons.lesson_numbers import DIGITS, name_of
from tacitd_handlers.lessons.lesson_reader import LessonReader

LOCK = ".lock"
_ID = compile_lazily(rb'"id"\s*:\s*"?(\d{1,%d})\b' % DIGITS)


class LessonStore(LessonReader):
    """The lessons of one directory. Safe with any number of processes; use one object per thread."""

    def __init__(
        self, directory: Path, beside: Path, clock: Clock | None = None, disk: Disk | None = None
    ) -> None:
        """`beside`: the folder for origins and projects."""
        super().__init__(directory, beside, disk)
        self.clock = clock or SystemClock()

    @classmethod
    def from_environ(cls, env: Mapping[str, str], clock: Clock | None = None) -> Self:
        """The lessons of this environment."""
        made = super().from_environ(env)
        made.clock = clock or made.clock
        return made

    @property
    def today(self) -> str:
        """The local ISO date (SPEC E-24)."""
        return local_date(self.clock.now())

    def load_index(self) -> LessonIndex:
        """The index. If it does not match the log it is rebuilt, and stored if possible. Raises OSError."""
        log = str(self.log.path)
        found = lesson_index.read_index(log, str(self.directory / lesson_paths.INDEX))
        return found if found is not None else self._rebuild_index()

    @contextmanager
    def begin_change(self) -> Iterator[LessonChange]:
        """Hold the lock and read the log. After the block, rebuild the index if something was appended.

        Raises OSError if the directory cannot be written.
        """
        make_dirs(self.directory, self.disk, private=True)
        with wait_for_lock(self.directory / LOCK, self.disk):
            for path in (self.log.path, self.directory / lesson_paths.INDEX):
                refuse_other_name(path, self.disk.resolve(path))
            before = self._stamp()
            folded = self.read_lessons()
            now = LessonChange(self.log, folded, max(folded.last, self._damaged_id() if self.log.bad else 0))
            try:
                yield now
            finally:
                if now.was_tried:
                    self._update_index(now, before.st_size if before is not None else 0)

    def _damaged_id(self) -> int:
        """The highest id in a complete line of the log, even if the line cannot be parsed: a person may repair it.

        A torn last line does not count, because its id was never reported to anyone.
        """
        fd = self.disk.open_read(self.log.path)
        try:
            whole, _, _ = read_all(fd, self.disk).rpartition(b"\n")
        finally:
            self.disk.close(fd)
        return max(map(int, _ID.findall(whole)), default=0)

    def _update_index(self, change: LessonChange, size: int) -> None:
        """Update the index after our records.

        It is made from the fold in memory, unless another process wrote to the log meanwhile.
        """
        self.log.close()
        stamp = self._stamp()
        # Another tool may have appended without our lock. Then the log grew by more than our records.
        if stamp is None or stamp.st_size - size != change.written:
            self._rebuild_index()
        else:
            self._save_index(
                lesson_index.build_index(change.folded.with_records(change.appended), self.log.bad), stamp
            )

    def _rebuild_index(self) -> LessonIndex:
        # Take the stamp before reading the log. If the log grows meanwhile, the index is recognised as stale.
        stamp = self._stamp()
        return self._save_index(lesson_index.build_index(self.read_lessons(), self.log.bad), stamp)

    def _save_index(self, made: LessonIndex, stamp: os.stat_result | None) -> LessonIndex:
        data = made.bind_to_log(stamp) if stamp is not None else None
        try:
            if data is not None:
                replace_file(self.directory / lesson_paths.INDEX, data, mode=0o600, disk=self.disk)
        except (OSError, FileRefusedError):
            # The index is only a cache. If it cannot be stored, use the one in memory.
            return made
        return made

    def _stamp(self) -> os.stat_result | None:
        return lesson_index.stat_log(os.fspath(self.log.path))


class LessonChange:
    """A change under the lock: the state before it, and the means to append."""

    def __init__(self, log: Log, folded: FoldedLessons, last: int) -> None:
        """`last`: the highest id ever given."""
        self.folded = folded
        self.appended: list[Mapping[str, Any]] = []
        self.was_tried = False
        """Whether an append was tried. If it failed, part of the record may be in the log."""
        self.written = 0
        """Bytes appended, not counting the newline that ends a torn line."""
        self._log = log
        self._last = last

    def next_id(self) -> str:
        """An id that no record of the log has had (SPEC E-22)."""
        self._last += 1
        return name_of(self._last)

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        """Append a record. `sync`: durable on return. Raises OSError, LogDamagedError."""
        self.was_tried = True
        self._log.append(record, sync=sync)
        self.appended.append(record)
        self.written += len(encode_record(record)) + 1
