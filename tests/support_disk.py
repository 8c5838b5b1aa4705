"""Every disk of the process, failing on demand, and one that knows what a power cut would take. `support_faulty_disk` has one disk that
fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support_faulty_disk import Crash, FaultyDisk
from tacitd.files.disk import Disk

CHANGES = (
    "open_append",
    "open_new",
    "write",
    "truncate",
    "chmod",
    "sync",
    "sync_dir",
    "mkdir",
    "replace",
    "place",
    "exchange",
    "unlink",
)
"""The methods of `Disk` that change something."""

each_fault = pytest.mark.parametrize(
    "disk_for",
    [
        lambda at: FaultyDisk(crash_at=at),
        lambda at: FaultyDisk(crash_at=at, torn=True),
        lambda at: FaultyDisk(fail_at=at, code=errno.ENOSPC, torn=True),
        lambda at: FaultyDisk(fail_at=at, code=errno.EIO),
    ],
    ids=["crash", "torn", "full", "broken"],
)
"""Runs a test with each disk that crashes or fails at the change `at`: `disk_for(at)`."""


def count_faults(patch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count from now on how often a `FaultyDisk` crashed or failed and a `DiskFaults` failed. What is returned gives the number."""
    made: list[str] = []
    end, fails = FaultyDisk._end, DiskFaults.fails

    def end_counted(disk: FaultyDisk) -> None:
        made.append("crash or failure")
        end(disk)

    def fails_counted(faults: DiskFaults, what: str) -> bool:
        found = fails(faults, what)
        made.extend([what] * found)
        return found

    patch.setattr(FaultyDisk, "_end", end_counted)
    patch.setattr(DiskFaults, "fails", fails_counted)
    return lambda: len(made)


class PowerCutDisk(FaultyDisk):
    """Knows what a power cut now would take. A temporary file that comes back is no loss, so its removal is not counted."""

    def __init__(self, *, can_swap: bool = True, crash_at: int = 0) -> None:
        super().__init__(crash_at=crash_at)
        self.can_swap = can_swap
        self.lost_bytes: set[int] = set()
        """The inodes of files with bytes that are not synced."""
        self.lost_names: set[Path] = set()
        """The directories with names that are not synced."""

    def write(self, fd: int, data: bytes) -> int:
        self.lost_bytes.add(self.fstat(fd).st_ino)
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self.lost_bytes.discard(self.fstat(fd).st_ino)

    def sync_dir(self, directory: Path) -> None:
        super().sync_dir(directory)
        self.lost_names.discard(directory)

    def open_append(self, path: Path, mode: int) -> int:
        if not path.exists():
            self.lost_names.add(path.parent)
        return super().open_append(path, mode)

    def mkdir(self, path: Path, mode: int) -> None:
        super().mkdir(path, mode)
        self.lost_names.add(path.parent)

    def replace(self, source: Path, target: Path) -> None:
        self._name(source)
        super().replace(source, target)

    def place(self, source: Path, target: Path) -> None:
        self._name(source)
        super().place(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        if not self.can_swap:
            return False
        self._name(one)
        return super().exchange(one, other)

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        if not path.name.startswith(".tacitd-"):
            self.lost_names.add(path.parent)

    def _name(self, source: Path) -> None:
        assert self.stat(source).st_ino not in self.lost_bytes, "renamed before its bytes were synced"
        self.lost_names.add(source.parent)


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
                patch.setattr(Disk, name, self._counted(name, getattr(Disk, name)))
            yield

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def change(disk: Disk, *args: Any, **options: Any) -> Any:
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
