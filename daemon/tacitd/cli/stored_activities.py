"""What happened, from the logs of the state directory: for `tacitd log` without a daemon, and for what the daemon has not kept.

Transactions become `changed`, calls of the budget's log `asked`, and commits what their plugin's hook makes of them. What was
read and what was parked is in no log.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import SystemClock, parse_utc
from tacitd.files.log import Log
from tacitd.files.row_history import list_row_changes
from tacitd.files.transaction import History
from tacitd.handler import Plugin
from tacitd.model.budget import EndedCall
from tacitd.store import open_readonly
from tacitd.work.activities import (
    Activity,
    describe_call,
    describe_change,
    describe_commit,
    describe_row,
    read_activities,
)
from tacitd.work.commit_rows import read_all_commits

LATEST = 253_402_300_800.0
"""The year 10000, in seconds since 1970: a foreign record may have a time that cannot be shown."""


def list_stored(
    state: Path, plugins: Iterable[Plugin], since: float, before: float, limit: int
) -> list[Activity]:
    """The newest `limit` activities at `since` (seconds since 1970, UTC) or later and earlier than `before`, oldest first.

    `state`: the state directory. Damaged and foreign records are skipped. Raises OSError.
    """
    parts: list[Iterable[Activity]] = [_list_changes(state), _list_calls(state)]
    parts.append(_list_rows(state, since))
    parts += [_list_commits(state / "handlers" / one.name, one) for one in plugins if one.activity]
    end = min(before, LATEST)
    found = (one for part in parts for one in part if max(since, 0.0) <= one.at < end)
    return sorted(heapq.nlargest(limit, found, key=lambda one: one.at), key=lambda one: one.at)


def _list_changes(state: Path) -> Iterator[Activity]:
    history = History(Log(state / "history.jsonl"), SystemClock())
    for done in history.list_all_transactions():
        if done.state == "done" and done.written:
            yield Activity(done.at, "changed", *describe_change(done))


def _list_rows(state: Path, since: float) -> list[Activity]:
    """What plugins made and changed, from the store."""
    store = open_readonly(state)
    if store is None:
        return []
    with store:
        changed = [
            Activity(parse_utc(each["at"]) or 0.0, "changed", *describe_row(each))
            for each in list_row_changes(store.rows)
            if each["state"] == "done" and each["lines"]
        ]
        return [*changed, *read_activities(store.rows, since)]


def _list_calls(state: Path) -> Iterator[Activity]:
    begun: dict[str, Mapping[str, Any]] = {}
    for record in Log(state / "budget.jsonl", terminated=True).read():
        id = str(record.get("id"))
        if record.get("state") == "begun":
            begun[id] = record
        elif record.get("state") == "ended" and (call := begun.pop(id, None)) is not None:
            at, usd = record.get("at"), record.get("usd")
            if isinstance(at, int | float) and isinstance(usd, int | float):
                texts = [str(call.get(name) or "") for name in ("purpose", "project")]
                why, model = (str(record.get(name) or "") for name in ("why", "model"))
                ended = EndedCall(texts[0], texts[1], float(usd), bool(record.get("assumed")), why, model)
                yield Activity(float(at), "asked", *describe_call(ended))


def _list_commits(home: Path, plugin: Plugin) -> Iterator[Activity]:
    for commit in read_all_commits(home):
        yield from describe_commit(plugin, commit)
