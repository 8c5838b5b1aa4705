"""What a section of the report consists of. A plugin's hook `report` returns these values, and the engine renders them.

A plugin passes text as it is: the engine makes it safe for HTML and removes hidden characters. What has no data is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Literal

from msgspec import Struct

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
MOST_WEEKS = 26
"""A longer span is divided into months."""


class ReportScope(Struct, frozen=True):
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
        return self.since <= at <= self.now


class ReportTable(Struct, frozen=True, tag_field="kind", tag="table"):
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


class Buckets(Struct, frozen=True):
    """Consecutive weeks or months in local time. A week begins on Monday and has the name of that day."""

    unit: Literal["week", "month"]
    labels: tuple[str, ...]
    """`2026-02-16` or `2026-02`, oldest first."""

    def count(self, times: Iterable[tuple[float, float]]) -> tuple[tuple[str, float], ...]:
        """Given times (seconds since 1970, UTC) with an amount each, return the sum for each bucket; a time
        outside counts to the nearest."""
        sums = dict.fromkeys(self.labels, 0.0)
        for at, amount in times:
            sums[min(max(_name_bucket(self.unit, _local_day(at)), self.labels[0]), self.labels[-1])] += amount
        return tuple(sums.items())


def make_buckets(since: float, now: float) -> Buckets:
    """Divide the span between two times (seconds since 1970, UTC) into at most 26 weeks, otherwise into
    months."""
    last = _local_day(now)
    first = min(_local_day(since), last)
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    unit: Literal["week", "month"] = "week" if len(days) <= 7 * MOST_WEEKS else "month"
    return Buckets(unit, tuple(dict.fromkeys(_name_bucket(unit, day) for day in days)))


def _name_bucket(unit: Literal["week", "month"], day: date) -> str:
    return (day - timedelta(days=day.weekday())).isoformat() if unit == "week" else f"{day:%Y-%m}"


def _local_day(at: float) -> date:
    return datetime.fromtimestamp(min(max(0.0, at), 4e9)).date()  # of a damaged record, the nearest
