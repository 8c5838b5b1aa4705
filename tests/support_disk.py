"""A disk that fails on demand: it counts every call that changes something, and crashes or fails at the n-th one.

    disk = FaultyDisk(crash_at=3)      # the process is killed before the third change
    disk = FaultyDisk(fail_at=3)       # the third change raises OSError(ENOSPC), those after it work again
    disk = FaultyDisk(fail_at=3, lasting=True)   # those after it fail too, until `mend`

A crash is a BaseException, as no code of ours may catch it; after it nothing changes the disk any more, and
the descriptors that were open are closed, as the kernel does for a dead process (which frees its locks).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacitd.files.disk import RealDisk


class Crash(BaseException):
    """The process was killed at this point."""


class FaultyDisk(RealDisk):
    """Counts changes in `trail`; see the module's docstring."""

    def __init__(
        self,
        *,
        crash_at: int = 0,
        fail_at: int = 0,
        code: int = errno.ENOSPC,
        torn: bool = False,
        short_by: int = 0,
        lasting: bool = False,
    ) -> None:
        self.crash_at = crash_at
        self.fail_at = fail_at
        self.code = code
        self.torn = torn
        """Whether half of the bytes are written before a write crashes or fails."""
        self.short_by = short_by
        """A write that crashes or fails omits this number of bytes at the end; 0: as `torn` says."""
        self.lasting = lasting
        """Whether every change from `fail_at` on fails."""
        self.trail: list[str] = []
        self.dead = False
        self.opened: set[int] = set()

    def _step(self, what: str) -> bool:
        """Whether this change fails. The caller may then do half of its work before `_end`."""
        if self.dead:
            raise Crash(what)
        self.trail.append(what)
        count = len(self.trail)
        return count in (self.crash_at, self.fail_at) or (self.lasting and 0 < self.fail_at <= count)

    def fail_again(self, at: int, code: int) -> None:
        """Count from 1 again, and fail at this change; 0: never."""
        self.trail.clear()
        self.fail_at, self.code = at, code

    def mend(self) -> None:
        """Every change works from now on."""
        self.fail_at = 0

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

    def unlock(self, fd: int) -> None:
        if not self.dead:
            super().unlock(fd)

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

    def truncate(self, fd: int) -> None:
        self._count("truncate")
        super().truncate(fd)

    def chmod(self, fd: int, mode: int) -> None:
        self._count("chmod")
        super().chmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        self._count("chown")
        super().chown(fd, uid, gid)

    def sync(self, fd: int) -> None:
        self._count("sync")

    def sync_data(self, fd: int) -> None:
        self._count("sync_data")

    def sync_dir(self, directory: Path) -> None:
        self._count("sync_dir")

    def mkdir(self, path: Path, mode: int) -> None:
        self._count("mkdir")
        super().mkdir(path, mode)

    def replace(self, source: Path, target: Path) -> None:
        self._count("replace")
        super().replace(source, target)

    def place(self, source: Path, target: Path) -> None:
        self._count("place")
        super().place(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        self._count("exchange")
        return super().exchange(one, other)

    def unlink(self, path: Path) -> None:
        self._count("unlink")
        super().unlink(path)


CHANGES = (
    "open_append",
    "open_new",
    "write",
    "truncate",
    "chmod",
    "sync",
    "sync_data",
    "sync_dir",
    "mkdir",
    "replace",
    "place",
    "exchange",
    "unlink",
)
"""The methods of `Disk` that change something."""


@dataclass(slots=True)
class DiskFaults:
    """Lets every disk of the process fail on demand, for tests of a whole daemon, whose parts open their own logs."""

    fail_at: int = 0
    """The number of the change that fails, counted from `arm` on; 0: none."""
    code: int = errno.ENOSPC
    lasting: bool = False
    """Whether the changes after it fail too."""
    part: float = 0.0
    """The share of the bytes that a failing write writes; 1: all but the last byte."""
    dead: bool = False
    """Whether the process was killed: nothing changes any more, and every attempt raises `Crash`."""
    count: int = 0

    def arm(self, fail_at: int, code: int, *, lasting: bool, part: float) -> None:
        """Count from 1 again and fail as the arguments say."""
        self.fail_at, self.code, self.lasting, self.part = fail_at, code, lasting, part
        self.count, self.dead = 0, False

    def mend(self) -> None:
        """Let every change succeed again, and a new process run."""
        self.fail_at, self.dead = 0, False

    def fails(self, what: str) -> bool:
        """Count a change, and return whether it fails."""
        if self.dead:
            raise Crash(what)
        self.count += 1
        return bool(self.fail_at) and (
            self.count == self.fail_at or (self.lasting and self.count > self.fail_at)
        )

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        """All disks use these settings while the block runs."""
        with pytest.MonkeyPatch.context() as patch:
            for name in CHANGES:
                patch.setattr(RealDisk, name, self._counted(name, getattr(RealDisk, name)))
            yield

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def change(disk: RealDisk, *args: Any, **options: Any) -> Any:
            if not self.fails(name):
                # A sync costs milliseconds and is only observable after a power cut.
                return None if name.startswith("sync") else real(disk, *args, **options)
            if name == "write":
                fd, data = args
                some = data[: min(len(data) - 1, int(len(data) * self.part))]
                if some:
                    real(disk, fd, some)
            raise OSError(self.code, os.strerror(self.code))

        return change
