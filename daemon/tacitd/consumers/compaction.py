"""Compacting a handler's log: the same state in fewer records. What the records mean is in `consumer.py`.

A log of more than 1 MB is compacted when the daemon opens it, unless most of it is what a compaction wrote. These remain:
the first start, the jobs, the messages that were handled lately, the position in each transcript that still exists or was
logged within 60 days, and records of a newer version. The handled prompts move into a file of their own
(`handled_prompts.py`). Commits with data are kept for 400 days: in the log, or, if the handler takes snapshots, in the
archive (`snapshots.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tacitd.clock import find_latest_time
from tacitd.consumers.consumer import (
    MESSAGES_KEY,
    RESEND_FOR,
    Consumer,
    make_baseline_records,
    make_position_record,
)
from tacitd.consumers.handled_prompts import write_handled
from tacitd.consumers.snapshots import ARCHIVE, SNAPSHOT, SnapshotHandler, identify_record, is_commit
from tacitd.errors import FileRefusedError
from tacitd.files.log import LINE_LIMIT, Log, encode_record
from tacitd.sources.position import Position

LARGE = 1 << 20
"""Bytes."""
GROWN = 0.5
"""The share of what the last compaction wrote that must have been added since, in records."""
DAY = 86400.0
KEEP_DATA = 400 * DAY
KEEP_GONE = 60 * DAY
KEEP_MESSAGES = 2 * RESEND_FOR
KEEP_SHOWN = 2 * DAY
"""Seconds for which an archived commit is in the log too, because a start lists what was done on the last day."""
LATE = 30 * DAY
"""Seconds by which commits in the archive may be too old before it is written anew."""
_OURS = frozenset(
    {
        "born",
        "base",
        "done",
        "at",
        "rewind",
        "ids",
        "job",
        "told",
        "kept",
        "retry",
        "state",
        "past",
        "compacted",
    }
)


def compact_log(
    consumer: Consumer, exists: Callable[[str], bool], *, large: int = LARGE, grown: float = GROWN
) -> bool:
    """Given a consumer whose handler is open, replace the log if it is too long. Returns whether it was replaced.

    `large`: bytes up to which it is left alone; `grown`: see GROWN. Raises OSError, LogDamagedError, FileRefusedError, and what
    the handler's `take_snapshot` raises; nothing is lost then.
    """
    written, added = consumer.record_counts
    if consumer.log.size <= large or added < written * grown:
        return False
    with consumer.lock:
        if not consumer.has_all_handled:
            raise FileRefusedError(f"{consumer.handled_file} could not be read", "make it readable")
        now = find_latest_time(consumer.clock.now(), filter(None, map(_get_time, consumer.log.read())))
        handler = consumer.handler
        state = handler.take_snapshot() if isinstance(handler, SnapshotHandler) else None
        if state is not None:
            _check_readable(state)
            _archive_commits(consumer, now)
        elif consumer.has_snapshot:
            raise FileRefusedError(
                "the handler takes no snapshots any more", "install a version of it that does"
            )
        write_handled(consumer.handled_file, consumer.seen, consumer.log.disk)
        consumer.log.compact(_compacted_records(consumer, state, now, exists))
        consumer.record_counts[1] = 0
    return True


def _check_readable(state: Mapping[str, Any]) -> None:
    """Raise FileRefusedError if the log's readers would leave out a record with this state, because it is too long."""
    if len(encode_record(state)) > LINE_LIMIT - (1 << 10):
        raise FileRefusedError("the handler's state is longer than a record may be", "nothing is lost")


def _compacted_records(
    consumer: Consumer, state: Mapping[str, Any] | None, now: float, exists: Callable[[str], bool]
) -> Iterator[Mapping[str, Any]]:
    """What readers need before the commits, then the commits in their order, then the positions."""
    if consumer.first_start is not None:
        yield {"k": "born", "at": consumer.first_start}
    if state is not None:
        yield {"k": "state", "at": now, "ev": SNAPSHOT, "t": "", "s": "", "o": -1, "d": dict(state)}
    for record in consumer.log.read():
        if str(record.get("k")) not in _OURS:
            yield record
        elif is_commit(record) and (_is_shown(record, now) if state is not None else _is_kept(record, now)):
            yield _strip_commit(record, "kept" if state is None else "past")
    messages = {id: at for id, at in consumer.handled_messages.items() if at >= now - KEEP_MESSAGES}
    for day in sorted({at // DAY for at in messages.values()}):
        ids = [id for id, at in messages.items() if at // DAY == day]
        yield {"k": "told", "at": max(messages[id] for id in ids), "ids": ids}
    if consumer.retried_keys:
        yield {"k": "retry", "at": now, "t": "", "ids": sorted(consumer.retried_keys)}
    for name, at in consumer.last_job_runs.items():
        yield {"k": "job", "at": at, "s": name}
    for stream in consumer.cursors.list_live():
        known = stream.get_state() != (0, 0, -1) or stream.scan_since is not None
        if known and _is_remembered(stream.name, stream.logged_at, now, exists):
            yield make_position_record(stream, stream.logged_at)
    for one in consumer.cursors.iter_positions():
        known = (one.offset, one.crc, one.handled_upto) != (0, 0, -1)
        if known and _is_remembered(one.name, one.at, now, exists):
            yield make_position_record(one, one.at)
    baselines: dict[float, list[tuple[str, Position]]] = {}
    for path, offset, crc, at in consumer.cursors.iter_baselines():
        if offset and _is_remembered(path, at, now, exists):
            baselines.setdefault(at, []).append((path, Position(offset, crc)))
    for at, part in baselines.items():
        yield from make_baseline_records(part, at)
    yield {
        "k": "compacted",
        "at": now,
        "ids": bool(consumer.seen.tables["id"]),
        "state": state is not None,
    }


def _archive_commits(consumer: Consumer, now: float) -> None:
    """Move the commits of the log into the archive, and drop what is too old there. Durable when this returns."""
    archive = Log(consumer.log.path.with_name(ARCHIVE), consumer.log.disk)
    if min(map(_get_time, archive.read()), default=now) < now - KEEP_DATA - LATE:
        archive.compact(each for each in archive.read() if _is_kept(each, now))
    oldest = min(map(_get_time, _list_unarchived(consumer, now)), default=now)
    # A compaction that did not reach its end, such as on a full disk, has archived some of them.
    known = {identify_record(each) for each in archive.read() if _get_time(each) >= oldest}
    is_again = False
    for record in _list_unarchived(consumer, now):
        if identify_record(record) in known:
            is_again = True
        else:
            archive.append(_strip_commit(record, "kept"))
    if is_again:  # what a crash or a failed sync left is perhaps in the kernel's memory only
        archive.compact(archive.read())
    archive.close()


def _list_unarchived(consumer: Consumer, now: float) -> Iterator[Mapping[str, Any]]:
    for record in consumer.log.read():
        # Those that the last compaction left in the log, to be shown, are in the archive.
        if record.get("k") != "past" and is_commit(record) and _is_kept(record, now):
            yield record


def _get_time(record: Mapping[str, Any]) -> float:
    at = record.get("at")
    return float(at) if isinstance(at, int | float) else 0.0


def _is_kept(record: Mapping[str, Any], now: float) -> bool:
    return _get_time(record) >= now - KEEP_DATA


def _is_shown(record: Mapping[str, Any], now: float) -> bool:
    """Whether a commit that the snapshot contains is still read at a start: it is shown, or has messages."""
    return _get_time(record) >= now - (RESEND_FOR if MESSAGES_KEY in record["d"] else KEEP_SHOWN)


def _strip_commit(record: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The commit without what other records have."""
    return {"k": kind, **{key: record[key] for key in ("at", "ev", "t", "s", "o", "d") if key in record}}


def _is_remembered(path: str, logged_at: float, now: float, exists: Callable[[str], bool]) -> bool:
    """Whether a transcript exists or was logged lately. Reading it again does no harm."""
    return logged_at >= now - KEEP_GONE or exists(path)
