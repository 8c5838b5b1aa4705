"""What handlers of the first contract did: rows of `adapter_commit`, for their next start and for commands that look it up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tacitd.handler import Commit
from tacitd.store import open_readonly

if TYPE_CHECKING:
    from tacitd.contract import Row, Tx
    from tacitd.work.task_rows import Rows

OWNER = "adapter"
SCHEMA = {OWNER: ("tacitd.work:adapter.sql",)}
"""The tables of the adapter, for `Store.open`."""
SNAPSHOT = "Snapshot"
"""`Commit.event` of a snapshot, which is the first commit that `open` gets."""
FOLD_AFTER = 500
"""Commits after which a start replaces them by the handler's snapshot."""
KEPT = 400 * 86_400.0
"""Seconds for which a commit that a snapshot contains can be looked up."""
_COLUMNS = "at, event, transcript, session, upto, data"


@runtime_checkable
class SnapshotHandler(Protocol):
    """A handler that need not read all its commits at each start."""

    def take_snapshot(self) -> Mapping[str, Any]:
        """What all commits until now amount to, as JSON. At the next start `open` gets it as a commit with the event
        SNAPSHOT, before the commits that were made since."""
        ...


def insert_commit(tx: Tx, plugin: str, commit: Commit, task: int | None = None) -> int:
    """Store a commit, and return its number. `task`: the task that it ends."""
    text = json.dumps(dict(commit.data), ensure_ascii=False)
    return tx.execute(
        f"INSERT INTO adapter_commit(plugin, {_COLUMNS}, task) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        plugin,
        commit.at,
        commit.event,
        commit.transcript,
        commit.session,
        commit.upto,
        text,
        task,
    ).row


def load_commit(rows: Rows, number: int) -> Commit | None:
    """The commit of this number; None if there is none."""
    found = rows(f"SELECT {_COLUMNS} FROM adapter_commit WHERE number = ?", number)
    return _commit_of(found[0]) if found else None


def list_unfolded(rows: Rows, plugin: str) -> list[Commit]:
    """What a handler is opened with: the snapshot, if there is one, and the commits since, oldest first."""
    found = rows(
        f"SELECT {_COLUMNS} FROM adapter_commit WHERE plugin = ? AND folded = 0 ORDER BY number", plugin
    )
    return [_commit_of(row) for row in found]


def list_commits_since(rows: Rows, plugin: str, since: float) -> list[Commit]:
    """The commits of a handler from this time on, oldest first."""
    found = rows(
        f"SELECT {_COLUMNS} FROM adapter_commit WHERE plugin = ? AND at >= ? AND event <> ? ORDER BY number",
        plugin,
        since,
        SNAPSHOT,
    )
    return [_commit_of(row) for row in found]


def fold_commits(tx: Tx, plugin: str, state: Mapping[str, Any], now: float) -> None:
    """Replace the commits of a handler by its snapshot. They can be looked up for 400 days."""
    tx.execute("DELETE FROM adapter_commit WHERE plugin = ? AND event = ?", plugin, SNAPSHOT)
    tx.execute("UPDATE adapter_commit SET folded = 1 WHERE plugin = ? AND folded = 0", plugin)
    tx.execute("DELETE FROM adapter_commit WHERE plugin = ? AND at < ?", plugin, now - KEPT)
    insert_commit(tx, plugin, Commit(now, SNAPSHOT, "", "", -1, state))


def read_commits(home: Path) -> Iterator[Commit]:
    """Given a handler's directory, yield what it is opened with, for a command. Raises UnwritableError, StoreLostError."""
    yield from _read(home, "folded = 0")


def read_all_commits(home: Path) -> Iterator[Commit]:
    """Given a handler's directory, yield each commit, oldest first. Raises UnwritableError, StoreLostError."""
    yield from _read(home, f"event <> '{SNAPSHOT}'")


def _read(home: Path, where: str) -> Iterator[Commit]:
    store = open_readonly(home.parent.parent)
    if store is None:
        return
    with store:
        if OWNER not in store.versions:
            return
        found = store.rows(
            f"SELECT {_COLUMNS} FROM adapter_commit WHERE plugin = ? AND {where} ORDER BY number", home.name
        )
    for row in found:
        yield _commit_of(row)


def _commit_of(row: Row) -> Commit:
    at, event, transcript, session, upto, data = row
    return Commit(at, event, transcript, session, upto, json.loads(data))
