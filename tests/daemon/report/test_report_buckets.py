"""Weeks, months and years: every time has exactly one bucket."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.report.buckets import MOST, YEARS, make_buckets

DAY = 86_400.0
NOON = datetime(2026, 2, 18, 12).timestamp()
TIMES = st.floats(0, 4e9)


@examples(150)
@given(TIMES, TIMES, st.lists(TIMES, max_size=20))
def test_nothing_is_lost_and_nothing_counted_twice(since: float, now: float, times: list[float]) -> None:
    """The sums of the buckets are the sum of all; the labels ascend without a gap or a double, and are few."""
    buckets = make_buckets(since, now)
    assert list(buckets.labels) == sorted(set(buckets.labels))
    assert 1 <= len(buckets.labels) <= max(MOST, YEARS + 1)
    counted = buckets.count((at, 1) for at in times)
    assert sum(value for _, value in counted) == len(times)
    assert tuple(label for label, _ in counted) == buckets.labels


@pytest.mark.parametrize(("days", "unit", "number"), [(0, "week", 1), (90, "week", 14), (365, "month", 13)])
def test_the_unit_follows_from_the_span(days: int, unit: str, number: int) -> None:
    """Weeks up to half a year, then months, then years."""
    buckets = make_buckets(NOON - days * DAY, NOON)
    assert (buckets.unit, len(buckets.labels)) == (unit, number)
    assert make_buckets(0.0, NOON).unit == "year"


def test_a_week_begins_on_monday() -> None:
    """The label is that Monday; a time outside the span counts to the nearest bucket."""
    buckets = make_buckets(NOON - 14 * DAY, NOON)
    assert buckets.labels == ("2026-02-02", "2026-02-09", "2026-02-16")
    assert all(date.fromisoformat(label).weekday() == 0 for label in buckets.labels)
    assert buckets.find_label(NOON - 900 * DAY) == "2026-02-02"
    assert buckets.find_label(1e17) == "2026-02-16"
