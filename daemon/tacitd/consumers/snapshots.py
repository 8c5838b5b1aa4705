"""Snapshots and archives: what a handler's commits amount to, and where the commits themselves are kept for reading.

A handler that has `take_snapshot` is opened with its snapshot and the commits after it. A compaction writes the snapshot in
place of the commits, and moves these into `archive.jsonl` beside the log, where commands that ask for single ones find them.
The archive is written before the log, so a crash between leaves a commit in both; readers yield it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tacitd.files.log import Log
from tacitd.handler import Commit

ARCHIVE = "archive.jsonl"
LOG = "log.jsonl"
SNAPSHOT = "Snapshot"
"""`Commit.event` of a snapshot, which is the first commit that `open` gets."""
COMMITS = frozenset({"done", "kept", "past"})
"""The kinds of records that are commits."""
FOLDED = frozenset({"done", "kept", "state"})
"""The kinds of records that a handler's state is folded from."""


@runtime_checkable
class SnapshotHandler(Protocol):
    """A handler that need not read all its commits at each start."""

    def take_snapshot(self) -> Mapping[str, Any]:
        """What all commits until now amount to, as JSON. At the next start `open` gets it as a commit with the event
        SNAPSHOT, before the commits that were made since."""
        ...


def read_commit_records(home: Path) -> Iterator[dict[str, Any]]:
    """Yield the record of each commit with data that the handler with this directory made, the archived ones first.

    Raises OSError.
    """
    known = set[int]()
    for record in Log(home / ARCHIVE).read():
        if is_commit(record) and (key := identify_record(record)) not in known:
            known.add(key)
            yield record
    for record in Log(home / LOG).read():
        if is_commit(record) and identify_record(record) not in known:
            yield record


def read_commits(log: Log) -> Iterator[Commit]:
    """Yield what a handler with this log is opened with: the snapshot, if there is one, and the commits with data since,
    oldest first. Damaged and foreign records are left out. Raises OSError."""
    for record in log.read():
        if str(record.get("k")) in FOLDED and record.get("d"):
            with suppress(KeyError, TypeError, ValueError):
                yield parse_commit(record)


def parse_commit(record: Mapping[str, Any]) -> Commit:
    """Given a record of the log, return the commit. Raises KeyError, TypeError, ValueError if it is not one."""
    data = record.get("d", {})
    if not isinstance(data, Mapping):
        raise ValueError("data is an object")
    return Commit(
        float(record["at"]), str(record["ev"]), str(record["t"]), str(record["s"]), int(record["o"]), data
    )


def is_commit(record: Mapping[str, Any]) -> bool:
    """Whether a record of a handler's log is a commit with data."""
    data = record.get("d")
    return str(record.get("k")) in COMMITS and isinstance(data, dict) and bool(data)


def identify_record(record: Mapping[str, Any]) -> int:
    """A number that two records of the same commit share."""
    return hash(tuple(str(record.get(name)) for name in ("at", "ev", "t", "s", "o")))
