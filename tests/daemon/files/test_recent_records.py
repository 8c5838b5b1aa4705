"""A log of which only the last days are of use is shortened to them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tacitd.files.log import Log
from tacitd.files.recent_records import LARGE, read_recent
from tacitd.testing import FaultyDisk

DAY = 86400.0


def fill(log: Log, days: int, size: int = 0) -> None:
    """One record for each day since day 0."""
    for day in range(days + 1):
        log.append({"at": day * DAY, "n": day, "pad": "x" * size})
    log.flush()


def days(log: Log) -> list[int]:
    return [one["n"] for one in log.read()]


def test_what_is_too_old_is_dropped_from_a_long_log(tmp_path: Path) -> None:
    """Exactly at the limit stays. A short log keeps all, but only the recent ones are returned."""
    log = Log(tmp_path / "log.jsonl")
    fill(log, 100, LARGE // 100 - 100)
    assert [one["n"] for one in read_recent(log, 100 * DAY, 60 * DAY)] == list(range(40, 101))
    assert days(log) == list(range(101)), "it is not long"
    assert len(read_recent(log, 100 * DAY, 60 * DAY, large=0)) == 61 and days(log) == list(range(40, 101))


def test_a_clock_that_is_ahead_drops_nothing(tmp_path: Path) -> None:
    """The age counts from the newest record."""
    log = Log(tmp_path / "log.jsonl")
    fill(log, 50)
    assert len(read_recent(log, 30_000 * DAY, 60 * DAY, large=0)) == 51 == len(days(log))


def test_records_of_a_clock_that_was_ahead_drop_nothing(tmp_path: Path) -> None:
    """The clock was a century ahead for a day, and is so still, or is right again. Somebody may also be away for years: after
    a month of new records, the old ones are dropped."""
    log, ahead = Log(tmp_path / "log.jsonl"), 30_000
    fill(log, 50)
    log.append({"at": ahead * DAY, "n": ahead})
    for now in (ahead, 50):
        assert len(read_recent(log, now * DAY, 60 * DAY, large=0)) == 52 == len(days(log))
    for day in range(ahead + 1, ahead + 32):
        log.append({"at": day * DAY, "n": day})
        read_recent(log, day * DAY, 60 * DAY, large=0)
        assert len(days(log)) == (52 + day - ahead if day <= ahead + 30 else 32)


def test_a_record_without_a_time_stays(tmp_path: Path) -> None:
    """Earlier versions wrote some, and nobody knows how old they are."""
    log = Log(tmp_path / "log.jsonl")
    log.append({"n": -1})
    fill(log, 70)
    assert [one["n"] for one in read_recent(log, 70 * DAY, 69 * DAY, large=0)] == [-1, *range(1, 71)]
    assert days(log) == [-1, *range(1, 71)]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_log_that_cannot_be_written_stays_long(tmp_path: Path, code: int) -> None:
    """RELIABILITY row 3: what is known is the same."""
    fill(Log(tmp_path / "log.jsonl"), 100)
    log = Log(tmp_path / "log.jsonl", FaultyDisk(fail_at=1, code=code, lasting=True))
    assert len(read_recent(log, 100 * DAY, 10 * DAY, large=0)) == 11 and len(days(log)) == 101
