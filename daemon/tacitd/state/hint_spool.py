"""The program that a client's hooks run, and what it wrote while no daemon answered: files in `hooks/` of the state directory.

The program appends lines of JSON to `spool.jsonl`, in processes of its own; the daemon takes them at its start and in its
housekeeping. What they mean is in sources/.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.locks import make_private_dir
from tacitd.files.replaced import replace_file
from tacitd.files.temporary import read_snapshot

HOOKS_DIR = "hooks"
"""Directory in the state directory: the hooks' program and the spool."""
SPOOL = "spool.jsonl"


def write_hook_program(state_dir: Path, program: Path, name: str, disk: Disk | None = None) -> None:
    """Copy the program there under this name, unless it is there in this version. Raises OSError."""
    copy = make_private_dir(state_dir / HOOKS_DIR, disk) / name
    wanted = program.read_bytes()
    if not copy.is_file() or copy.read_bytes() != wanted:
        replace_file(copy, wanted, mode=0o700, disk=disk)


def take_spooled_hints(state_dir: Path, disk: Disk | None = None) -> list[dict[str, Any]]:
    """Return the spooled lines that are JSON objects, oldest first, and remove the file. Raises nothing.

    A line that is appended between reading and removing is lost; a hint only saves time.
    """
    disk, path = disk or RealDisk(), state_dir / HOOKS_DIR / SPOOL
    try:
        seen = read_snapshot(path, disk)
        if seen is None:
            return []
        disk.unlink(path)
    except (OSError, FileRefusedError):
        return []
    found: list[dict[str, Any]] = []
    for line in seen.data.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(data := json.loads(line), dict):
                found.append(data)
    return found
