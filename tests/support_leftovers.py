"""What a scenario must not leave: processes, torn lines, files that others can read."""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from support_waiting import PATIENCE


def leftovers(home: Path) -> list[int]:
    """Processes with this HOME (on Linux; empty elsewhere). Waits for one that is ending."""
    mark = f"HOME={home}".encode()
    last = time.monotonic() + PATIENCE
    while found := [pid for pid in _pids() if mark in _environment(pid)]:
        if time.monotonic() > last:
            return found
        time.sleep(0.02)
    return []


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def torn_lines(state: Path) -> list[str]:
    """Every line of every log that is not a JSON object."""
    return [
        f"{path.name}: {text[:80]!r}"
        for path in state.rglob("*.jsonl")
        for text in path.read_bytes().split(b"\n")
        if text and not _is_object(text)
    ]


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def too_open(state: Path) -> list[str]:
    """Everything in the state directory that others can read."""
    every = [state, *state.rglob("*")] if state.exists() else []
    return [str(path) for path in every if stat.S_IMODE(path.lstat().st_mode) & 0o077]
