"""What a client's hooks said while no daemon answered: lines of JSON in `hooks/spool.jsonl` of the state directory.

The hook's program appends them, in processes of its own; the daemon takes them at its start and in its housekeeping.
What they mean is in sources/.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.temporary import read_snapshot

HOOKS_DIR = "hooks"
"""Directory in the state directory: the hooks' program and the spool."""
SPOOL = "spool.jsonl"


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
