"""The archive of the history: the transactions that a start does not need, in `history-archive.jsonl` beside the log.

A compaction appends them to the archive before it replaces the log, so a crash between leaves them in both. What is asked of
the archive is read from it then: commands that list all changes, `undo` of an old one, and a key that was done long ago.
Which records go there is decided in history_compaction.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tacitd.clock import parse_utc
from tacitd.files.history_compaction import (
    DAY,
    KEEP_WHOLE,
    LARGE,
    WORTHWHILE,
    HistorySurvey,
    age_record,
    compact_records,
)
from tacitd.files.history_fold import FoldedHistory
from tacitd.files.log import Log, encode_record
from tacitd.files.transaction_records import MEASURED, PAST, Transaction, measured_record

LATE = 30 * DAY
"""Seconds by which whole transactions in the archive may be too old before it is written anew."""
OLDEST = 500
"""So many whole transactions are asked how old they are, without those of a clock that was ahead. They are in the order of
writing, so the archive of a year is not read at each compaction."""


class HistoryArchive:
    """The archive beside a history log."""

    def __init__(self, log: Log) -> None:
        """`log`: the history log."""
        self._history = log
        self._log = Log(log.path.with_name(f"{log.path.stem}-archive.jsonl"), log.disk)
        self._known: set[tuple[str, str]] | None = None
        """The records that a compaction before, which failed, has left in it; None: not looked for yet."""

    def read_all(self) -> Iterator[dict[str, Any]]:
        """Its records, and then those of the history log that it does not have. Raises OSError."""
        known = set[tuple[str, str]]()
        for record in self._log.read():
            if (identity := _identify(record)) not in known:
                known.add(identity)
                yield record
        for record in self._history.read():
            if not record.get("reduced") and record.get("state") != PAST and _identify(record) not in known:
                yield record

    def find_transaction(self, *, id: str = "", key: str = "") -> Transaction | None:
        """The transaction with this id or key; None if there is none. Raises OSError."""
        ids = [id] if id else [str(one.get("id")) for one in self._read_with(key) if one.get("key") == key]
        folded = FoldedHistory(record for one in ids[-1:] for record in self._read_with(one))
        return folded.find_id(ids[-1]) if ids else None

    def _read_with(self, text: str) -> list[dict[str, Any]]:
        return list(self._log.read(encode_record({"": text})[4:-1]))

    def add_record(self, record: Mapping[str, Any]) -> None:
        """Append a record, unless it is there. Raises OSError, LogDamagedError."""
        identity = _identify(record)
        if self._known is None:
            again = any(one.get("state") == identity[1] for one in self._read_with(identity[0]))
            every = self._log.read() if again else ()
            self._known = set(map(_identify, every))
        if identity not in self._known:
            self._log.append(record)

    def prune_old(self, now: float) -> None:
        """Leave only a digest of transactions of more than 400 days, once a month. Raises OSError."""
        limit = now - KEEP_WHOLE - LATE
        whole = (parse_utc(one.get("at")) or now for one in self._log.read() if one.get("ops"))
        if any(at < limit for at in islice((at for at in whole if at <= now), OLDEST)):
            self._log.compact(age_record(one, now) for one in self._log.read())

    def close(self) -> None:
        """Make what was added durable, also by a compaction before. Raises OSError."""
        if self._known:  # what a crash or a failed sync left is perhaps in the kernel's memory only
            self._log.compact(self._log.read())
        self._log.close()
        self._known = None


def _identify(record: Mapping[str, Any]) -> tuple[str, str]:
    return str(record.get("id")), str(record.get("state"))


def shorten_history(log: Log, now: float, *, large: int = LARGE) -> bool:
    """Shorten a log of more than `large` bytes that has grown by a third since the last time. Returns whether it was.

    The log's records are never all in memory. Raises OSError and LogDamagedError; nothing is lost then.
    """
    size = log.size
    if size <= large:
        return False
    measured = [int(one["size"]) for one in log.read(MEASURED.encode()) if one.get("form") == 2]
    if measured and size * WORTHWHILE < measured[-1]:
        return False
    archive = HistoryArchive(log)

    def keep_records() -> Iterator[Mapping[str, Any]]:
        # `Log.compact` consumes this while it has the log's lock, so no append comes between the two readings.
        survey = HistorySurvey(log.read(), now)
        archive.prune_old(survey.now)
        yield from compact_records(log.read(), survey, archive.add_record)
        archive.close()

    log.compact(keep_records())
    log.append(measured_record(log.size))
    log.flush()
    return True
