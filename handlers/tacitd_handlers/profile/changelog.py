"""Reading and pruning changelog.jsonl (SPEC P-18 to P-21). Writers only append; the prune rewrites the whole file.

A line that is not a JSON object is moved to a quarantine log, whatever its length. What an entry contains belongs to
`profile_changes`, which makes them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tacitd.clock import parse_utc
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.log import Log
from tacitd.files.recent_records import read_recent

MAX_ENTRIES = 1000
MAX_AGE_DAYS = 90
DAY = 86_400.0
LINE_LIMIT = 1 << 20
"""Bytes. A longer line is not an entry."""
QUARANTINE = "changelog.quarantine.jsonl"


class ChangelogLine(Struct, frozen=True):
    """A line of the file: an entry, or (a piece of) a line that is not one."""

    entry: dict[str, Any] | None
    """None: the line is not a JSON object."""
    raw: bytes = b""
    """The bytes of a line that is not an entry."""


def read_entries(path: Path, last: int = MAX_ENTRIES, disk: Disk | None = None) -> list[dict[str, Any]]:
    """Return at most `last` of the newest entries, oldest first. Raises OSError."""
    return list(deque((one.entry for one in read_lines(path, disk) if one.entry is not None), maxlen=last))


def read_lines(path: Path, disk: Disk | None = None) -> Iterator[ChangelogLine]:
    """Yield every line, with about a megabyte in memory. A longer line comes in pieces. Raises OSError."""
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
    """Yield the lines, and whether each is whole: a line that is longer than the limit comes in pieces."""
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


def _line(piece: tuple[bytes, bool]) -> ChangelogLine:
    raw, whole = piece
    if whole:
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return ChangelogLine(found)
    return ChangelogLine(None, raw)


def select_kept(found: Iterator[dict[str, Any]], now: float) -> list[dict[str, Any]]:
    """Return the entries that stay: those of the last 90 days (exactly 90 stays), then the last 1,000 of them (P-20).

    Ages are compared as times, not as text (P-21). An entry without a readable timestamp counts as new.
    """
    oldest = now - MAX_AGE_DAYS * DAY
    young = (one for one in found if (parse_utc(one.get("timestamp")) or now) >= oldest)
    return list(deque(young, maxlen=MAX_ENTRIES))


def prune_changelog(log: Log, now: float, quarantine: Log) -> int:
    """Bring the file within its limits; return the number of lines removed. The prune itself is not logged (P-20).

    `now` is seconds since 1970, UTC. Raises OSError; the file is then unchanged.
    """
    total = bad = 0
    for one in read_lines(log.path):
        if one.entry is None and not one.raw.strip():
            continue
        total, bad = total + 1, bad + (one.entry is None)
    # The file is not rewritten if every line stays.
    if total <= MAX_ENTRIES and not bad and len(select_kept(_entries(log.path), now)) == total:
        return 0
    left = 0

    def records() -> Iterator[Mapping[str, Any]]:
        nonlocal left
        stay = select_kept(_sifted(log.path, quarantine, now), now)
        quarantine.flush()  # before the file without these lines replaces the old one
        left = len(stay)
        yield from stay

    log.compact(records())
    read_recent(quarantine, now, MAX_AGE_DAYS * DAY)
    return total - left


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    return (one.entry for one in read_lines(path) if one.entry is not None)


def _sifted(path: Path, quarantine: Log, now: float) -> Iterator[dict[str, Any]]:
    for one in read_lines(path):
        if one.entry is not None:
            yield one.entry
        elif one.raw.strip():
            quarantine.append({"at": now, "line": one.raw.decode("utf-8", "backslashreplace")})
