"""Late writes: what is written into a file after it was swapped out (X-07, X-08).

A program that opened a file before the swap (an editor that saves in place, a shell's `>>`) continues to write into the
old file, which has no name any more. The kernel keeps that file while any process has a descriptor of it. So tacitd keeps
a descriptor too, and checks it two seconds and a minute after the swap. If the old file has changed, it is written to
`NAME.tacitd-saved` beside the file, for the person to compare; no sweep removes it. Copies that a crash in the middle of a
swap left behind are reported too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, read_all
from tacitd.files.replaced import replace_file
from tacitd.files.temporary import LIMIT, SAVED_SUFFIX, list_kept_copies, read_snapshot
from tacitd.text.hashes import sha256

FIRST, LAST = 2.0, 60.0
"""Seconds after the swap at which the old file is checked."""
AT_ONCE = 64
"""Highest number of kept descriptors; beyond it the oldest is checked early and closed."""


class RecoveredCopy(Struct, frozen=True):
    """A copy with a person's text that is not in any other file."""

    path: Path
    target: Path | None
    """The file that it was written for; None if an earlier process left the copy: then it is a file of the same directory."""


class _OldFile(Struct, frozen=True):
    """A file that was swapped out."""

    fd: int
    target: Path
    known: bytes
    """The digest of its bytes at the swap, or of those that are in the copy."""
    last: float
    """Monotonic seconds: when it is checked for the last time."""
    due: float
    """Monotonic seconds: when it is checked next."""
    copy: Path | None = None


class LateWrites:
    """The files that were swapped out within the last minute. Thread-safe; raises nothing."""

    def __init__(
        self, clock: Clock, disk: Disk | None = None, *, on_kept: Callable[[], None] = lambda: None
    ) -> None:
        """`on_kept` is called when a file is kept, in any thread."""
        self._clock = clock
        self._disk = disk or RealDisk()
        self._lock = threading.Lock()
        self._kept: list[_OldFile] = []
        self._copies: dict[Path, Path | None] = {}
        self._on_kept = on_kept

    def keep_old_file(self, target: Path, old: Path, seen: bytes) -> None:
        """Keep a descriptor of `target`'s old file, whose name `old` is about to be removed and whose bytes were `seen`."""
        with suppress(OSError), self._lock:  # without a descriptor, late writes are not found
            now = self._clock.monotonic()
            one = _OldFile(self._disk.open_read(old), target, sha256(seen).digest(), now + LAST, now + FIRST)
            self._kept.append(one)
            while len(self._kept) > AT_ONCE:
                self._close_file(self._kept.pop(0))
        self._on_kept()

    def check_due(self) -> None:
        """Check the old files that are due. One that cannot be saved now is kept for another minute."""
        with self._lock:
            now = self._clock.monotonic()
            for one in [one for one in self._kept if one.due <= now]:
                self._kept.remove(one)
                try:
                    checked = self._save_changes(one)
                except (OSError, FileRefusedError):
                    self._kept.append(replace(one, due=now + LAST))
                    continue
                if now < one.last:
                    self._kept.append(replace(checked, due=one.last))
                else:
                    self._disk.close(one.fd)

    def next_in(self) -> float | None:
        """Seconds until the next check is due; None if nothing is kept."""
        with self._lock:
            due = min((one.due for one in self._kept), default=None)
        return None if due is None else max(0.0, due - self._clock.monotonic())

    def close(self) -> None:
        """Check all of them a last time and close their descriptors. For the end of the process."""
        with self._lock:
            while self._kept:
                self._close_file(self._kept.pop(0))

    def find_copies(self, directories: Iterable[Path]) -> None:
        """Record the copies in these directories that earlier processes left."""
        for directory in directories:
            for path in list_kept_copies(directory, self._disk):
                self._copies.setdefault(path, None)

    @property
    def recovered(self) -> tuple[RecoveredCopy, ...]:
        """The copies that still exist."""
        for path in list(self._copies):
            try:
                self._disk.stat(path)
            except FileNotFoundError:
                self._copies.pop(path, None)
            except OSError:
                continue
        return tuple(RecoveredCopy(path, target) for path, target in sorted(self._copies.items()))

    def _close_file(self, one: _OldFile) -> None:
        with suppress(OSError, FileRefusedError):
            self._save_changes(one)
        self._disk.close(one.fd)

    def _save_changes(self, one: _OldFile) -> _OldFile:
        """If the old file has changed, write its copy. Raises OSError and FileRefusedError."""
        found = self._disk.fstat(one.fd)
        if found.st_nlink or found.st_size > LIMIT:
            # With another name (a backup by hard links) a write is meant for that name. A file this long is not text.
            return one
        data = read_all(one.fd, self._disk)
        digest = sha256(data).digest()
        now = read_snapshot(one.target, self._disk)
        if digest == one.known or not data.strip() or (now is not None and now.data == data):
            return one
        copy = self._find_name(one)
        replace_file(copy, data, mode=found.st_mode & 0o777, disk=self._disk)
        self._copies[copy] = one.target
        return replace(one, known=digest, copy=copy)

    def _find_name(self, one: _OldFile) -> Path:
        """The name of its copy: the one that it has, unless a person changed that, otherwise one that is free."""
        if one.copy is not None:
            seen = read_snapshot(one.copy, self._disk)
            if seen is not None and sha256(seen.data).digest() == one.known:
                return one.copy
        taken, name = set(self._disk.names(one.target.parent)), one.target.name + SAVED_SUFFIX
        count = 1
        while (free := name if count == 1 else f"{name}-{count}") in taken:
            count += 1
        return one.target.with_name(free)
