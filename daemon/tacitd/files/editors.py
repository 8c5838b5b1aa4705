"""Files that are being edited in the moment in which tacitd changes them (X-07, X-08).

- An editor that has a file open warns its user if the file changes on disk. vim and nano keep `.NAME.swp` (`.swo`, `.swn`)
  beside it, Emacs a link `.#NAME` (usually a dangling one) and `#NAME#` while there are unsaved changes. While such a mark is
  younger than ten minutes, the change is tried again each minute. Other editors leave no mark.
- An editor that saves in place truncates the file and then writes it, a long one in pieces. So a file that is empty, or whose
  last line has no end, waits until it is a second old.
- A program that opened a file before the swap (an editor that saves in place, a shell's `>>`) continues to write into the
  old file, which has no name any more. So tacitd keeps a descriptor of it, and checks it in each housekeeping of the following
  minute. If the old file has changed, it is written to `NAME.tacitd-saved` beside the file, for the person to compare; no sweep
  removes it. Copies that a crash in the middle of a swap left behind are reported too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.atomic import (
    LIMIT,
    SAVED_SUFFIX,
    FileSnapshot,
    list_kept_copies,
    read_snapshot,
    replace_file,
)
from tacitd.files.disk import DISK, Disk, read_all
from tacitd.files.stalls import PATIENCE as DISK_PATIENCE
from tacitd.files.stalls import Stalls
from tacitd.text.hashes import sha256

REST = 1.0
"""Seconds since a file changed, after which it is not about to be written."""
PATIENCE = 600.0
"""Seconds for which an editor's mark counts."""
AGAIN = 60.0
"""Seconds between two tries to change a file that is open in an editor."""
WATCHED = 60.0
"""Seconds after the swap, after which an old file is checked for the last time."""
AT_ONCE = 64
"""Highest number of kept descriptors; beyond it the oldest is checked early and closed."""
AT_MOST = 0.2
"""Seconds for which `status` waits for the disk of one of them."""
LAST_LOOK = 0.75
"""Seconds for which the end of the process waits for the disk of one of them."""
T = TypeVar("T")


class _OldFile(Struct, frozen=True):
    """A file that was swapped out."""

    fd: int
    target: Path
    known: bytes
    """The digest of its bytes at the swap, or of those that are in the copy."""
    since: float
    """Monotonic seconds."""


class Editors:
    """What is known of other programs that edit the same files. Thread-safe."""

    def __init__(self, clock: Clock, disk: Disk = DISK, stalls: Stalls | None = None) -> None:
        """`stalls`: without it, each look takes as long as the disk needs."""
        self._clock = clock
        self._disk = disk
        self.stalls = stalls or Stalls(clock, threads=False)
        self._lock = threading.Lock()
        self._written: dict[Path, bytes] = {}
        """The digest of what tacitd wrote last."""
        self._open: dict[Path, Path] = {}
        self._kept: list[_OldFile] = []
        self._copies: dict[Path, Path | None] = {}

    # --- before a change

    def check_at_rest(self, target: Path, seen: FileSnapshot | None) -> None:
        """Raise FileBusyError if the file (None: no such file) changed within the last second and is empty or ends within a line, and
        that is not what tacitd wrote last. JSON, of which half could not be read, may end without a newline."""
        if seen is None or seen.data.endswith((b"\n", b"}")):
            return
        if self._written.get(target) == sha256(seen.data).digest():
            return
        if abs(self._clock.now() - seen.stat.st_mtime) < REST:
            raise FileBusyError(f"{target} is just being written", "retried in a second", seconds=REST)

    def check_marks(self, target: Path) -> None:
        """Raise FileBusyError if an editor has marked the file, given by its real path, as open within the last ten minutes."""
        names = f".#{target.name}", f"#{target.name}#"
        swap = f".{target.name.removeprefix('.')}.sw"
        starts, found = (*names, swap), list[str]()
        with suppress(OSError):  # there may be thousands, of which few are a mark
            found = [name for name in self._disk.names(target.parent) if name.startswith(starts)]
        marks = (target.with_name(name) for name in sorted(found) if name in names or name[:-1] == swap)
        mark = next((mark for mark in marks if self._is_young(mark)), None)
        if mark is None:
            self._open.pop(target, None)
            return
        self._open[target] = mark
        what = f"{target} is open in an editor ({mark.name})"
        hint = "save and close it to have the change written within a minute"
        raise FileBusyError(what, hint, seconds=AGAIN)

    def list_open(self) -> list[tuple[Path, Path]]:
        """The files whose changes wait now because an editor has them open, and the editor's mark of each."""
        return [one for one in list(self._open.items()) if self._is_young(one[1])]

    def _is_young(self, mark: Path) -> bool:
        try:
            return abs(self._clock.now() - self._ask_stat(mark).st_mtime) < PATIENCE
        except OSError:
            return False
        except FileBusyError:  # its disk hangs: the change waits
            return True

    def _ask_stat(self, path: Path) -> os.stat_result:
        """For `status` too, which must not wait. Raises OSError, FileBusyError."""
        return self.stalls.ask(str(path.parent), partial(self._disk.stat, path), AT_MOST)

    # --- after a change

    def note_written(self, target: Path, data: bytes) -> None:
        self._written[target] = sha256(data).digest()

    def keep_old_file(self, target: Path, old: Path, seen: bytes) -> None:
        """Keep a descriptor of `target`'s old file, whose name `old` is about to be removed and whose bytes were `seen`."""
        with suppress(OSError):  # without a descriptor, late writes are not found
            fd = self._disk.open_read(old)
            with self._lock:
                self._kept.append(_OldFile(fd, target, sha256(seen).digest(), self._clock.monotonic()))
                early, self._kept = self._kept[:-AT_ONCE], self._kept[-AT_ONCE:]
            self._ask_each(early, self._close_file, DISK_PATIENCE)

    def check_old_files(self) -> None:
        """Save what was written into the old files. One that cannot be saved now is kept."""
        for _, answer in self._ask_each(self._take_kept(), self._check_file, DISK_PATIENCE):
            if answer.done():
                answer.result()

    def close(self) -> None:
        """Check all of them a last time and close their descriptors. For the end of the process, which waits for no disk that hangs."""
        for one, answer in self._ask_each(self._take_kept(), self._find_late, LAST_LOOK):
            if answer.done():
                with suppress(OSError, FileRefusedError):
                    self._save_late(one, answer.result())
                self._disk.close(one.fd)
        for one in self._take_kept():
            self._disk.close(one.fd)

    def _take_kept(self) -> list[_OldFile]:
        with self._lock:
            taken, self._kept = self._kept, []
        return taken

    def _ask_each(
        self, files: Sequence[_OldFile], question: Callable[[_OldFile], T], patience: float
    ) -> list[tuple[_OldFile, Future[T]]]:
        """Ask about each. From then on only the thread of its question has the file; one whose disk is stuck is kept."""
        questions = [(str(one.target.parent), partial(question, one)) for one in files]
        answers = list(zip(files, self.stalls.ask_each(questions, patience), strict=True))
        with self._lock:
            self._kept += [one for one, answer in answers if answer is None]
        return [(one, answer) for one, answer in answers if answer is not None]

    def _check_file(self, one: _OldFile) -> None:
        is_over = self._clock.monotonic() - one.since >= WATCHED
        try:
            one = self._save_late(one, self._find_late(one))
        except (OSError, FileRefusedError):
            is_over = False
        if is_over:
            self._disk.close(one.fd)
            return
        with self._lock:
            self._kept.append(one)

    def find_copies(self, directories: Iterable[Path]) -> None:
        """Record the copies in these directories that earlier processes left."""
        for directory in directories:
            for path in list_kept_copies(directory, self._disk):
                self._copies.setdefault(path, None)

    def list_copies(self) -> list[tuple[Path, Path | None]]:
        """The copies that exist, and for each the file that it was written for; None: by an earlier process, for one beside it."""
        for path in list(self._copies):
            try:
                self._ask_stat(path)
            except FileNotFoundError:
                self._copies.pop(path, None)
            except (OSError, FileBusyError):  # the disk may not be there now
                continue
        return sorted(self._copies.items())

    def _close_file(self, one: _OldFile) -> None:
        with suppress(OSError, FileRefusedError):
            self._save_late(one, self._find_late(one))
        self._disk.close(one.fd)

    def _find_late(self, one: _OldFile) -> bytes | None:
        """What the old file contains; None if it has not changed. Raises OSError and FileRefusedError."""
        found = self._disk.fstat(one.fd)
        if found.st_nlink or found.st_size > LIMIT:
            # With another name (a backup by hard links) a write is meant for that name. A file this long is not text.
            return None
        data = read_all(one.fd, self._disk)
        if sha256(data).digest() == one.known or not data.strip():
            return None
        now = read_snapshot(one.target, self._disk)
        return None if now is not None and now.data == data else data

    def _save_late(self, one: _OldFile, data: bytes | None) -> _OldFile:
        """Write it to a copy. Raises OSError and FileRefusedError."""
        if data is None:
            return one
        taken, name = set(self._disk.names(one.target.parent)), one.target.name + SAVED_SUFFIX
        names = (name, *(f"{name}-{count}" for count in range(2, len(taken) + 3)))
        copy = one.target.with_name(next(free for free in names if free not in taken))
        mode = self._disk.fstat(one.fd).st_mode & 0o777
        replace_file(copy, data, mode=mode, disk=self._disk)
        self._copies[copy] = one.target
        return replace(one, known=sha256(data).digest())
