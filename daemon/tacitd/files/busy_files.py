"""Files that are being edited now: a change waits for them (X-08).

- An editor that has a file open warns its user if the file changes on disk. vim and nano keep `.NAME.swp` (`.swo`, `.swn`)
  beside it, Emacs a link `.#NAME` (usually a dangling one) and `#NAME#` while there are unsaved changes. While such a mark is
  younger than ten minutes, the change is tried again each minute. Other editors leave no mark.
- An editor that saves in place truncates the file and then writes it. So an empty file waits until it is a second old.

Waiting only avoids what a person would see: a change is compare-and-swap (replaced.py), and what an editor writes into the
old file later is saved (late_writes.py).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.errors import FileBusyError
from tacitd.files.disk import Disk, RealDisk

REST = 1.0
"""Seconds since an empty file changed, after which it is not about to be written."""
PATIENCE = 600.0
"""Seconds for which an editor's mark counts."""
AGAIN = 60.0
"""Seconds between two checks of a file that is open in an editor."""


class BusyFile(Struct, frozen=True):
    """A file whose change waits because an editor has it open."""

    path: Path
    mark: Path


class BusyFiles:
    """Knows which files are being edited. Thread-safe."""

    def __init__(self, clock: Clock, disk: Disk | None = None) -> None:
        self._clock = clock
        self._disk = disk or RealDisk()
        self._waiting: dict[Path, Path] = {}

    def check_file(self, target: Path, seen: os.stat_result | None) -> None:
        """Given the real path of a file and its stat (None: no such file), raise FileBusyError if it is being edited."""
        self.check_at_rest(target, seen)
        self.check_editors(target)

    def check_at_rest(self, target: Path, seen: os.stat_result | None) -> None:
        """Raise FileBusyError if the file became empty within the last second."""
        if seen is not None and seen.st_size == 0 and abs(self._clock.now() - seen.st_mtime) < REST:
            raise FileBusyError(f"{target} is just being written", "retried in a second", seconds=REST)

    def check_editors(self, target: Path) -> None:
        """Raise FileBusyError if an editor has marked the file as open within the last ten minutes."""
        mark = self._find_mark(target)
        if mark is None:
            self._waiting.pop(target, None)
            return
        self._waiting[target] = mark
        raise FileBusyError(
            f"{target} is open in an editor ({mark.name})",
            "close the file to have it written within a minute",
            seconds=AGAIN,
            editor=mark.name,
        )

    def list_waiting(self) -> tuple[BusyFile, ...]:
        """The files whose changes wait now because an editor has them open."""
        return tuple(BusyFile(*one) for one in list(self._waiting.items()) if self._is_young(one[1]))

    def _find_mark(self, target: Path) -> Path | None:
        names = f".#{target.name}", f"#{target.name}#"
        swap = f".{target.name.removeprefix('.')}.sw"
        with suppress(OSError):
            # A folder may have thousands of files, so only the names are compared.
            marks = [one for one in self._disk.names(target.parent) if one in names or one[:-1] == swap]
            for name in sorted(marks):
                if self._is_young(target.with_name(name)):
                    return target.with_name(name)
        return None

    def _is_young(self, mark: Path) -> bool:
        try:
            return abs(self._clock.now() - self._disk.stat(mark).st_mtime) < PATIENCE
        except OSError:
            return False
