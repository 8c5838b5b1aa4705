"""Renaming and removing tacitd's own files. Durable when the call returns; no file's content changes.

The caller decides what is renamed or removed and when that is safe. Renaming over an existing file does not belong here;
that is in replaced.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tacitd.files.disk import Disk, RealDisk
from tacitd.files.temporary import read_snapshot


def rename_file(source: Path, target: Path, disk: Disk | None = None) -> None:
    """Rename a file within its directory.

    Raises OSError; FileExistsError if `target` exists. An error can also mean that the file has its new name but the
    directory could not be synced, so a caller must check both names.
    """
    disk = disk or RealDisk()
    disk.place(source, target)
    disk.sync_dir(target.parent)


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
