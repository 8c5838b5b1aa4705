"""What a section of the report consists of. A plugin's hook `report` returns these values, and the engine renders them.

A plugin passes text as it is: the engine makes it safe for HTML and removes hidden characters. What has no data is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, to_builtins

__all__ = [
    "Buckets",
    "Cell",
    "ReportPart",
    "ReportScope",
    "ReportSection",
    "ReportSeries",
    "ReportTable",
    "make_buckets",
]

Cell = str | int | float | None
"""A number is aligned to the right; None is shown as `unknown`."""
MOST_BUCKETS = 26
"""Weeks or months in one series; a longer span is divided into the next larger unit."""


class ReportScope(Struct, frozen=True):
    """What the report is about."""

    state_dir: Path
    environ: Mapping[str, str]
    root: Path | None
    """The project's root; None: all projects."""
    since: float
    """Seconds since 1970, UTC."""
    now: float
    """Seconds since 1970, UTC."""

    def covers_project(self, root: str | Path) -> bool:
        return self.root is None or Path(root) == self.root

    def covers_time(self, at: float) -> bool:
        """Whether a time (seconds since 1970, UTC) is in the report's span."""
        return self.since <= at <= self.now


class ReportTable(Struct, frozen=True, tag_field="kind", tag="table"):
    """Rows with a head."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """One cell for each column, the most important row first."""

    @property
    def has_data(self) -> bool:
        return bool(self.rows)


class ReportSeries(Struct, frozen=True, tag_field="kind", tag="series"):
    """Values in an order, usually over time."""

    title: str
    points: tuple[tuple[str, float], ...]
    """A label and a value of at least 0 for each."""
    unit: Literal["", "$"] = ""

    @property
    def has_data(self) -> bool:
        return any(value > 0 for _, value in self.points)


ReportPart = ReportTable | ReportSeries


class ReportSection(Struct, frozen=True):
    """One heading of the report."""

    heading: str
    parts: tuple[ReportPart, ...] = ()
    note: str = ""
    """One or two sentences below the heading: what is counted, and what is unknown."""

    def keep_data(self) -> ReportSection | None:
        """The section with its parts that have data; None if no part has."""
        parts = tuple(part for part in self.parts if part.has_data)
        return ReportSection(self.heading, parts, self.note) if parts else None


def describe_section(section: ReportSection) -> dict[str, Any]:
    """Return a section as JSON: `heading`, `note` and `parts`.

    A part is `{"kind": "table", "title", "columns", "rows"}` or `{"kind": "series", "title", "unit", "points"}`, where a point
    is a label and a value.
    """
    described: dict[str, Any] = to_builtins(section)
    return described


class Buckets(Struct, frozen=True):
    """Consecutive weeks, months or years in local time. A week begins on Monday and has the name of that day."""

    unit: Literal["week", "month", "year"]
    labels: tuple[str, ...]
    """`2026-02-16`, `2026-02` or `2026`, oldest first."""

    def count(self, times: Iterable[tuple[float, float]]) -> tuple[tuple[str, float], ...]:
        """Given times (seconds since 1970, UTC) with an amount each, return the sum for each bucket, oldest first.

        A time outside the span counts to the nearest bucket.
        """
        sums = dict.fromkeys(self.labels, 0.0)
        for at, amount in times:
            sums[min(max(_name_bucket(self.unit, _local_day(at)), self.labels[0]), self.labels[-1])] += amount
        return tuple(sums.items())


def make_buckets(since: float, now: float) -> Buckets:
    """Divide the span between two times (seconds since 1970, UTC) into at most 26 weeks or months, otherwise years."""
    last = _local_day(now)
    first = min(_local_day(since), last)
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    for unit in ("week", "month"):
        labels = tuple(dict.fromkeys(_name_bucket(unit, day) for day in days))
        if len(labels) <= MOST_BUCKETS:
            return Buckets(unit, labels)
    return Buckets("year", tuple(f"{year:04d}" for year in range(first.year, last.year + 1)))


def _name_bucket(unit: Literal["week", "month", "year"], day: date) -> str:
    if unit == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    return day.isoformat()[: 7 if unit == "month" else 4]


def _local_day(at: float) -> date:
    """A local date. A time before 1970 or long after today, of a damaged record, becomes the nearest that has one."""
    return datetime.fromtimestamp(min(max(0.0, at), 4e9)).date()
