"""Making a handler's log short: the same memory in fewer records. What the records mean is in `consumer.py`.

Done when the daemon opens a log of more than 8 MB. What stays: the first start, every prompt that was handled, the
jobs, where the handler stands in each transcript that still exists or was touched within 60 days, every commit with
data that is not older than 400 days, and whatever a newer version wrote.
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
    """Where the log of a consumer that was just folded is too long, put a short one in its place. True: it was done.

    Raises OSError; the log then stands as it was.
    """
    if consumer.log.size <= large:
        return False
    with consumer.lock:
        consumer.log.compact(_compacted_records(consumer, exists))
    return True


def _compacted_records(consumer: Consumer, exists: Callable[[Path], bool]) -> Iterator[Mapping[str, Any]]:
    """What has to be known before a commit, then the commits in their order, then where everything stands."""
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
    """Seconds since 1970, UTC. Not later than the newest record: a clock that is a century ahead must not make
    everything look old."""
    newest = max((at for r in consumer.log.read() if isinstance(at := r.get("at"), int | float)), default=0.0)
    return min(consumer.clock.now(), newest)


def _strip_commit(record: Mapping[str, Any], since: float) -> Mapping[str, Any] | None:
    """A commit without what is folded elsewhere; None for one without data, or too old."""
    at, data = record.get("at"), record.get("d")
    if not isinstance(data, Mapping) or not data or not isinstance(at, int | float) or at < since:
        return None
    return {"k": "kept", **{key: record[key] for key in ("at", "ev", "t", "s", "o", "d") if key in record}}


def _is_worth_keeping(stream: Cursor, now: float, exists: Callable[[Path], bool]) -> bool:
    """One that nothing is known of is as good as new; one that is long gone would be read without harm."""
    known = stream.get_state() != (0, 0, -1) or stream.scan_since is not None
    return known and (stream.logged_at >= now - KEEP_GONE or exists(stream.path))
