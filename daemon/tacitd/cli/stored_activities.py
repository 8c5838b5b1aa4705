"""What happened, from the store: for `tacitd log` without a daemon, and for what the daemon has not kept.

Changes of files become `changed`, calls of the model `asked`; what plugins made is rows. What was read and what was parked is
stored nowhere.
"""

from __future__ import annotations

import heapq
from pathlib import Path

from tacitd.clock import parse_utc
from tacitd.files.row_history import list_row_changes
from tacitd.model.budget import list_ended
from tacitd.store import open_readonly
from tacitd.work.activities import (
    Activity,
    describe_call,
    describe_change,
    read_activities,
)

LATEST = 253_402_300_800.0
"""The year 10000, in seconds since 1970: a foreign record may have a time that cannot be shown."""


def list_stored(state: Path, since: float, before: float, limit: int) -> list[Activity]:
    """The newest `limit` activities at `since` (seconds since 1970, UTC) or later and earlier than `before`, oldest first.

    `state`: the state directory. Raises TacitdError.
    """
    end = min(before, LATEST)
    found = (one for one in _list_rows(state, since) if max(since, 0.0) <= one.at < end)
    return sorted(heapq.nlargest(limit, found, key=lambda one: one.at), key=lambda one: one.at)


def _list_rows(state: Path, since: float) -> list[Activity]:
    """What plugins made and changed, and the calls of the model, from the store."""
    store = open_readonly(state)
    if store is None:
        return []
    with store:
        changed = [
            Activity(parse_utc(each["at"]) or 0.0, "changed", *describe_change(each))
            for each in list_row_changes(store.rows)
            if each["state"] == "done" and each["lines"]
        ]
        calls = [Activity(at, "asked", *describe_call(one)) for at, one in list_ended(store, since)]
        return [*changed, *calls, *read_activities(store.rows, since)]
