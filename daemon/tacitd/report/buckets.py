"""Weeks, months or years between two times, in local time. Pure.

The unit is chosen so that a chart has at most about 26 bars. Weeks begin on Monday and are named by that day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Literal

__all__ = ["Buckets", "make_buckets"]

from msgspec import Struct

MOST = 26
"""Weeks or months in one chart; a longer span is divided into the next larger unit."""
YEARS = 60
"""Years at most: an older time counts to the first of them."""


class Buckets(Struct, frozen=True):
    """Consecutive spans of time that cover everything from one time to another."""

    unit: Literal["week", "month", "year"]
    labels: tuple[str, ...]
    """`2026-02-16`, `2026-02` or `2026`, oldest first."""

    def find_label(self, at: float) -> str:
        """The bucket of a time (seconds since 1970, UTC). One outside the span counts to the nearest bucket."""
        name = name_bucket(self.unit, _local_day(at))
        return min(max(name, self.labels[0]), self.labels[-1])

    def count(self, times: Iterable[tuple[float, float]]) -> tuple[tuple[str, float], ...]:
        """Given times (seconds since 1970, UTC) with an amount each, return the sum for each bucket, oldest first."""
        sums = dict.fromkeys(self.labels, 0.0)
        for at, amount in times:
            sums[self.find_label(at)] += amount
        return tuple(sums.items())


def make_buckets(since: float, now: float) -> Buckets:
    """Divide the span between two times (seconds since 1970, UTC) into weeks, months or years."""
    last = _local_day(now)
    first = max(min(_local_day(since), last), last.replace(year=max(1, last.year - YEARS), day=1))
    weeks = _list_weeks(first, last)
    if len(weeks) <= MOST:
        return Buckets("week", tuple(weeks))
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    if months <= MOST:
        return Buckets("month", tuple(_name_month(first, number) for number in range(months)))
    return Buckets("year", tuple(f"{year:04d}" for year in range(first.year, last.year + 1)))


def name_bucket(unit: Literal["week", "month", "year"], day: date) -> str:
    """The name of the bucket that contains a day."""
    match unit:
        case "week":
            return (day - timedelta(days=min(day.weekday(), day.toordinal() - 1))).isoformat()
        case "month":
            return f"{day.year:04d}-{day.month:02d}"
        case "year":
            return f"{day.year:04d}"


def _list_weeks(first: date, last: date) -> list[str]:
    """The weeks between two days; it stops after MOST + 1, because more are not used."""
    found = [name_bucket("week", first)]
    while found[-1] < name_bucket("week", last) and len(found) <= MOST:
        found.append((date.fromisoformat(found[-1]) + timedelta(days=7)).isoformat())
    return found


def _name_month(first: date, number: int) -> str:
    months = first.year * 12 + first.month - 1 + number
    return f"{months // 12:04d}-{months % 12 + 1:02d}"


def _local_day(at: float) -> date:
    try:
        return datetime.fromtimestamp(at).date()
    except (ValueError, OverflowError, OSError):  # a damaged record's time
        return date(1970, 1, 1) if at < 0 else date(9000, 1, 1)
