"""Names: a file of ours gets another name, or goes. Durable when the call returns; no byte of a file is touched.

What is renamed or removed, and when that is safe, is its owner's business. Nothing is ever renamed over something else:
that is replaced.py's.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tacitd.files.disk import Disk, RealDisk


def move(source: Path, target: Path, disk: Disk | None = None) -> None:
    """Give a file another name in its own directory.

    Raises OSError, FileExistsError where the name is taken; an error may also mean that it has its new name, but that
    the directory could not be synced: whoever looks under both names finds it.
    """
    disk = disk or RealDisk()
    disk.place(source, target)
    disk.sync_dir(target.parent)


def remove(paths: Iterable[Path], disk: Disk | None = None) -> None:
    """Take these names away; one that is gone already is no error. Raises OSError."""
    disk = disk or RealDisk()
    parents: dict[Path, None] = {}
    for path in paths:
        with suppress(FileNotFoundError):
            disk.unlink(path)
            parents[path.parent] = None
    for parent in parents:
        disk.sync_dir(parent)
