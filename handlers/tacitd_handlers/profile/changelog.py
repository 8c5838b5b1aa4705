"""changelog.jsonl as it is read and pruned (SPEC P-18 to P-21). Writers only append; the prune rewrites the file whole.

What does not parse is moved to a quarantine log, however long it is: nothing is thrown away because it is not understood.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.log import Log

MAX_ENTRIES = 1000
MAX_AGE_DAYS = 90
DAY = 86_400.0
LINE_LIMIT = 1 << 20
"""Bytes: a longer line is no entry."""
QUARANTINE = "changelog.quarantine.jsonl"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: an entry, or a piece of what is none."""

    entry: dict[str, Any] | None
    raw: bytes = b""


def entries(path: Path, last: int = MAX_ENTRIES, disk: Disk | None = None) -> list[dict[str, Any]]:
    """The newest entries, oldest first. Raises OSError."""
    return list(deque((one.entry for one in lines(path, disk) if one.entry is not None), maxlen=last))


def lines(path: Path, disk: Disk | None = None) -> Iterator[Line]:
    """Every line, a megabyte in memory at most; empty ones are left out. Raises OSError."""
    disk = disk or RealDisk()
    try:
        fd = disk.open_read(path)
    except FileNotFoundError:
        return
    try:
        yield from map(_line, _pieces(fd, disk))
    finally:
        disk.close(fd)


def _pieces(fd: int, disk: Disk) -> Iterator[tuple[bytes, bool]]:
    """The lines, and whether each is a whole one: what is longer than the limit comes in pieces."""
    held, offset, over = b"", 0, False
    while data := disk.pread(fd, LINE_LIMIT, offset):
        offset += len(data)
        *whole, held = (held + data).split(b"\n")
        for one in whole:
            yield one, not over
            over = False
        if len(held) > LINE_LIMIT:
            yield held, False
            held, over = b"", True
    if held:
        yield held, not over


def _line(piece: tuple[bytes, bool]) -> Line:
    raw, whole = piece
    if whole:
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return Line(found)
    return Line(None, raw)


def kept(found: Iterator[dict[str, Any]], now: float) -> list[dict[str, Any]]:
    """What stays: not older than 90 days (exactly 90 is not), then the last 1,000. Ages are compared as moments; an
    entry that does not say when it was is kept as long as there is room."""
    oldest = now - MAX_AGE_DAYS * DAY
    young = (one for one in found if (parse_utc(one.get("timestamp")) or now) >= oldest)
    return list(deque(young, maxlen=MAX_ENTRIES))


def prune(log: Log, now: float, quarantine: Log) -> int:
    """Bring the file within its limits; it does not log itself. Returns how many lines went.

    `now` is seconds since 1970, UTC. Raises OSError; the file then stands as it was.
    """
    total = bad = 0
    for one in lines(log.path):
        if one.entry is None and not one.raw.strip():
            continue
        total, bad = total + 1, bad + (one.entry is None)
    if total <= MAX_ENTRIES and not bad and len(kept(_entries(log.path), now)) == total:
        return 0
    left = 0

    def records() -> Iterator[Mapping[str, Any]]:
        nonlocal left
        stay = kept(_sifted(log.path, quarantine), now)
        quarantine.flush()
        left = len(stay)
        yield from stay

    log.compact(records())
    return total - left


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    return (one.entry for one in lines(path) if one.entry is not None)


def _sifted(path: Path, quarantine: Log) -> Iterator[dict[str, Any]]:
    for one in lines(path):
        if one.entry is not None:
            yield one.entry
        elif one.raw.strip():
            quarantine.append({"line": one.raw.decode("utf-8", "backslashreplace")})
