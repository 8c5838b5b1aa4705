"""A commit on its way into a handler's log, and out of it again. What is in one, and what it moves, is in `consumer.py`.

A record may stand in the log although it was not said to be durable: the write went through, and the sync after it did
not. Whoever tries again then must not add it once more, because readers would take it for done twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.files.log import Log, encode_record
from tacitd.handler import Commit

_SAME = ("ev", "t", "s", "ids", "d")
"""By what a record is known when it is tried again: its time, and where its transcript stands, may be others by then."""


class Commits:
    """Adds records to a log, each once. Used under its consumer's lock."""

    def __init__(self) -> None:
        self._unsure: dict[bytes, Mapping[str, Any]] = {}
        """What stands in the log, and may not be durable."""

    def append_once(self, log: Log, record: Mapping[str, Any]) -> Commit:
        """Add this and make it durable. Raises OSError, LogDamagedError: then it is to be added once more."""
        key = encode_record({name: record.get(name) for name in _SAME})
        if key not in self._unsure:
            log.append(record)
            self._unsure[key] = record
        log.flush()
        return parse_commit(self._unsure.pop(key))


def parse_commit(record: Mapping[str, Any]) -> Commit:
    """Given a record of the log, return the commit. Raises KeyError, TypeError, ValueError where it is none."""
    data = record.get("d", {})
    if not isinstance(data, Mapping):
        raise ValueError("data is an object")
    return Commit(
        float(record["at"]), str(record["ev"]), str(record["t"]), str(record["s"]), int(record["o"]), data
    )
