"""Compacting a handler's log: the same state in fewer records. What the records mean is in `consumer.py`.

A log of more than 8 MB is compacted when the daemon opens it. These remain: the first start, every handled prompt, the
jobs, the position in each transcript that still exists or was logged within 60 days, every commit with data that is
not older than 400 days, and records of a newer version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tacitd.consumers.consumer import Consumer, Cursor, make_position_record

LARGE = 8 << 20
"""Bytes."""
KEEP_DATA = 400 * 86400.0
KEEP_GONE = 60 * 86400.0
IDS = 1000
"""Prompts in one record."""
_OURS = frozenset({"born", "base", "done", "at", "rewind", "ids", "job", "told", "kept", "retry"})


def compact_log(consumer: Consumer, exists: Callable[[Path], bool], *, large: int = LARGE) -> bool:
    """Given a consumer whose log was just folded, replace the log if it is too long. Returns whether it was replaced.

    Raises OSError; the log is unchanged then.
    """
    if consumer.log.size <= large:
        return False
    with consumer.lock:
        consumer.log.compact(_compacted_records(consumer, exists))
    return True


def _compacted_records(consumer: Consumer, exists: Callable[[Path], bool]) -> Iterator[Mapping[str, Any]]:
    """What readers need before the commits, then the commits in their order, then the positions."""
    now = _newest_time(consumer)
    if consumer.first_start is not None:
        yield {"k": "born", "at": consumer.first_start}
    ids = consumer.seen.dump_keys()
    while some := list(islice(ids, IDS)):
        yield {"k": "ids", "at": now, "ids": some}
    for record in consumer.log.read():
        if record.get("k") not in _OURS:
            yield record
        elif (kept := _strip_commit(record, now - KEEP_DATA)) is not None:
            yield kept
    if consumer.handled_messages:
        yield {"k": "told", "at": now, "ids": sorted(consumer.handled_messages)}
    if consumer.retried_keys:
        yield {"k": "retry", "at": now, "t": "", "ids": sorted(consumer.retried_keys)}
    for name, at in consumer.last_job_runs.items():
        yield {"k": "job", "at": at, "s": name}
    for stream in consumer.cursors.values():
        if _is_worth_keeping(stream, now, exists):
            yield make_position_record(stream, stream.logged_at)


def _newest_time(consumer: Consumer) -> float:
    """Seconds since 1970, UTC; at most the newest record's time, in case the clock is a century ahead."""
    newest = max((at for r in consumer.log.read() if isinstance(at := r.get("at"), int | float)), default=0.0)
    return min(consumer.clock.now(), newest)


def _strip_commit(record: Mapping[str, Any], since: float) -> Mapping[str, Any] | None:
    """The commit without what other records have; None if it has no data or is too old."""
    at, data = record.get("at"), record.get("d")
    if not isinstance(data, Mapping) or not data or not isinstance(at, int | float) or at < since:
        return None
    return {"k": "kept", **{key: record[key] for key in ("at", "ev", "t", "s", "o", "d") if key in record}}


def _is_worth_keeping(stream: Cursor, now: float, exists: Callable[[Path], bool]) -> bool:
    """Whether the cursor has state, and its transcript exists or was logged lately. Reading it again does no harm."""
    known = stream.get_state() != (0, 0, -1) or stream.scan_since is not None
    return known and (stream.logged_at >= now - KEEP_GONE or exists(stream.path))
