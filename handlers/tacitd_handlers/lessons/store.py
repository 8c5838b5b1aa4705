"""The lessons on disk: the log, its lock, and the index made from it (SPEC E-20 to E-25).

Every change holds one lock: read the log, decide, append one record, sync it, then rebuild the index. So ids have no
gaps and are never reused, also with other writers. The log never loses a line; the index can be deleted at any time.
The operations are in `lesson_operations.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from tacitd.clock import Clock, SystemClock, local_date
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, make_dirs, read_all
from tacitd.files.locks import wait_for_lock
from tacitd.files.log import Log
from tacitd.files.replaced import replace_file
from tacitd.files.write_checks import refuse_other_name
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_fold import FoldedLessons
from tacitd_handlers.lessons.lesson_index import build_index
from tacitd_handlers.lessons.lesson_numbers import DIGITS, name_of
from tacitd_handlers.lessons.lesson_reader import LessonReader

LOCK = ".lock"
_ID = compile_lazily(rb'"id"\s*:\s*"?(\d{1,%d})\b' % DIGITS)


class LessonStore(LessonReader):
    """The lessons of one directory. Safe with any number of processes; use one object per thread."""

    def __init__(
        self, directory: Path, beside: Path, clock: Clock | None = None, disk: Disk | None = None
    ) -> None:
        """`beside`: the folder for origins."""
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

    def update_index(self) -> None:
        """Make index.json from the log, if it is another one. That it cannot be written stops nothing. Raises OSError."""
        data, file = build_index(self.read_lessons()), self.directory / lesson_paths.INDEX
        with suppress(OSError, FileRefusedError):
            if self.log.path.exists() and (not file.is_file() or file.read_bytes() != data):
                replace_file(file, data, mode=0o600, disk=self.disk)

    @contextmanager
    def begin_change(self) -> Iterator[LessonChange]:
        """Hold the lock and read the log. After the block, rebuild the index if something was appended.

        Raises OSError if the directory cannot be written.
        """
        make_dirs(self.directory, self.disk, private=True)
        with wait_for_lock(self.directory / LOCK, self.disk):
            for path in (self.log.path, self.directory / lesson_paths.INDEX):
                refuse_other_name(path, self.disk.resolve(path))
            folded = self.read_lessons()
            now = LessonChange(self.log, folded, max(folded.last, self._damaged_id() if self.log.bad else 0))
            try:
                yield now
            finally:
                self.log.close()
                if now.has_appended:
                    self.update_index()

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


class LessonChange:
    """A change under the lock: the state before it, and the means to append."""

    def __init__(self, log: Log, folded: FoldedLessons, last: int) -> None:
        """`last`: the highest id ever given."""
        self.folded = folded
        self.has_appended = False
        self._log = log
        self._last = last

    def next_id(self) -> str:
        """An id that no record of the log has had (SPEC E-22)."""
        self._last += 1
        return name_of(self._last)

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        """Append a record. `sync`: durable on return. Raises OSError, LogDamagedError."""
        self._log.append(record, sync=sync)
        self.has_appended = True
