"""Removing tacitd's own files. Durable when the call returns."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tacitd.files.disk import Disk, RealDisk


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
