"""A disk that fails on demand: it counts every call that changes something, and crashes or fails at the n-th.

    disk = FaultyDisk(crash_at=3)      # the process ends before the third change
    disk = FaultyDisk(fail_at=3)       # the third change raises OSError(ENOSPC), those after it work again

Pass it wherever a `tacitd.files.disk.Disk` is taken: `replace_file(…, disk=disk)`. A crash is a
BaseException, because no code may catch it. After it nothing changes the disk any more, and the descriptors that were open
are closed, as the kernel does for a dead process (which frees its locks).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacitd.files.disk import Disk

ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""What a call fails with on a full, a broken and a read-only disk."""


class Crash(BaseException):
    """The process ended here."""


class FaultyDisk(Disk):
    """Counts changes in `trail`; see the module."""

    def __init__(
        self,
        *,
        crash_at: int = 0,
        fail_at: int = 0,
        code: int = errno.ENOSPC,
        torn: bool = False,
        short_by: int = 0,
    ) -> None:
        self.crash_at = crash_at
        self.fail_at = fail_at
        self.code = code
        self.torn = torn
        """Half of the bytes are written before a write crashes or fails."""
        self.short_by = short_by
        """All but so many bytes are written before a write crashes or fails; 0: as `torn` says."""
        self.trail: list[str] = []
        self.dead = False
        self.opened: set[int] = set()

    def _step(self, what: str) -> bool:
        """True: this is where it goes wrong, and the caller may do half of its work before `_end`."""
        if self.dead:
            raise Crash(what)
        self.trail.append(what)
        return len(self.trail) in (self.crash_at, self.fail_at)

    def _end(self) -> None:
        if len(self.trail) == self.crash_at:
            self.dead = True
            for fd in self.opened:
                super().close(fd)
            self.opened.clear()
            raise Crash(self.trail[-1])
        raise OSError(self.code, os.strerror(self.code))

    def _count(self, what: str) -> None:
        if self._step(what):
            self._end()

    def _open(self, fd: int) -> int:
        self.opened.add(fd)
        return fd

    def open_read(self, path: Path) -> int:
        return self._open(super().open_read(path))

    def close(self, fd: int) -> None:
        if fd in self.opened:
            self.opened.discard(fd)
            super().close(fd)

    def open_append(self, path: Path, mode: int) -> int:
        self._count("open_append")
        return self._open(super().open_append(path, mode))

    def open_new(self, path: Path, mode: int) -> int:
        self._count("open_new")
        return self._open(super().open_new(path, mode))

    def write(self, fd: int, data: bytes) -> int:
        if self._step("write"):
            if self.short_by:
                super().write(fd, data[: -self.short_by])
            elif self.torn:
                super().write(fd, data[: len(data) // 2])
            self._end()
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._count("sync")

    def sync_dir(self, directory: Path) -> None:
        self._count("sync_dir")


def _count_calls(name: str) -> Callable[..., Any]:
    def call(self: FaultyDisk, *values: Any) -> Any:
        self._count(name)
        return getattr(Disk, name)(self, *values)

    return call


for _name in ("truncate", "chmod", "chown", "mkdir", "replace", "place", "exchange", "unlink"):
    setattr(FaultyDisk, _name, _count_calls(_name))
