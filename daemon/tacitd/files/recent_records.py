"""Logs of which only the last days or months are of use: reading those records, and dropping the others."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tacitd.clock import find_latest_time
from tacitd.errors import TacitdError
from tacitd.files.log import Log

LARGE = 256 << 10
"""Bytes: a shorter log is not written anew."""


def read_recent(log: Log, now: float, keep: float, *, large: int = LARGE) -> list[dict[str, Any]]:
    """Return the records whose `at` is at most `keep` seconds old, and shorten a log of more than `large` bytes to them.

    The age counts as `find_latest_time` says, so a clock that is ahead drops nothing; `now`: seconds since 1970, UTC. A record without a time, as earlier versions wrote some, stays. If the log cannot be written, it stays long. Raises
    OSError if it cannot be read.
    """
    records = list(log.read())
    since = find_latest_time(now, (at for one in records if (at := _get_time(one, 0.0)))) - keep
    kept = [one for one in records if _get_time(one, since) >= since]
    if log.size > large and len(kept) < len(records):
        with suppress(OSError, TacitdError):
            log.compact(one for one in log.read() if _get_time(one, since) >= since)
    return kept


def _get_time(record: dict[str, Any], unknown: float) -> float:
    at = record.get("at")
    return float(at) if isinstance(at, int | float) else unknown
