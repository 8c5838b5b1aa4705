"""Writing commits to a handler's log. What a commit contains and changes is in `consumer.py`.

A record may be in the log although its commit failed: the write succeeded, and the sync after it did not. A retry must
not append it again, because readers would count it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.consumers.snapshots import parse_commit
from tacitd.files.log import Log, encode_record
from tacitd.handler import Commit

_SAME = ("ev", "t", "s", "ids", "d")
"""The fields that identify a record in a retry. Its time and its transcript's position may have changed since."""


class Commits:
    """Appends records to a log, each once. Used under its consumer's lock."""

    def __init__(self) -> None:
        self._unsure: dict[bytes, Mapping[str, Any]] = {}
        """Records that are in the log but may not be durable."""

    def append_once(self, log: Log, record: Mapping[str, Any]) -> Commit:
        """Append the record and make it durable. Raises OSError, LogDamagedError; then call this again."""
        key = encode_record({name: record.get(name) for name in _SAME})
        if key not in self._unsure:
            log.append(record)
            self._unsure[key] = record
        log.flush()
        return parse_commit(self._unsure.pop(key))
