"""Counts what `FaultyDisk` lets go wrong, and has a disk that knows what a power cut would take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support_faulty_disk import FaultyDisk

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


def count_faults(patch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int]]:
    """Count from now on how often a `FaultyDisk` crashed and how often it failed. What is returned gives both numbers."""
    made: list[bool] = []
    end = FaultyDisk._end

    def end_counted(disk: FaultyDisk) -> None:
        made.append(len(disk.trail) == disk.crash_at)
        end(disk)

    patch.setattr(FaultyDisk, "_end", end_counted)
    return lambda: (sum(made), len(made) - sum(made))


class PowerCutDisk(FaultyDisk):
    """Knows what a power cut now would take. A temporary file that comes back is no loss, so its removal is not counted."""

    def __init__(self, *, can_swap: bool = True) -> None:
        super().__init__()
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
