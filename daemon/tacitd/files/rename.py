"""Removing tacitd's own files. Durable when the call returns."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tacitd.files.disk import Disk, RealDisk
from tacitd.files.temporary import read_snapshot


def remove_files(paths: Iterable[Path], disk: Disk | None = None) -> None:
    """Remove these files; one that does not exist is skipped. Raises OSError."""
    disk = disk or RealDisk()
    parents: dict[Path, None] = {}
    for path in paths:
        with suppress(FileNotFoundError):
            disk.unlink(path)
            parents[path.parent] = None
    for parent in parents:
        disk.sync_dir(parent)


def remove_empty(path: Path, disk: Disk) -> None:
    """Remove a file that a change left without a byte: nothing of a person is in it. Raises OSError."""
    snapshot = read_snapshot(path, disk)
    if snapshot is not None and not snapshot.data:
        remove_files([path], disk)
