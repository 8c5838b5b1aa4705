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
    "Cell",
    "ReportPart",
    "ReportScope",
    "ReportSection",
    "ReportSeries",
    "ReportTable",
]

Cell = str | int | float | None
"""A number is aligned to the right; None is shown as `unknown`."""


class ReportScope(Struct, frozen=True):
    state_dir: Path
    environ: Mapping[str, str]
    root: Path | None
    """The project's root; None: all projects."""
    since: float
    """Seconds since 1970, UTC."""
    now: float
    """Seconds since 1970, UTC."""

    def covers_time(self, at: float) -> bool:
        return self.since <= at <= self.now

    def count_by_week(self, times: Iterable[tuple[float, float]]) -> tuple[tuple[str, float], ...]:
        """Given times (seconds since 1970, UTC) with an amount each, return the sum for each week of the span, which has the name of
        its Monday, local; a time outside counts to the nearest."""
        last = _find_monday(self.now)
        first = min(_find_monday(self.since), last)
        sums = {first + timedelta(weeks=number): 0.0 for number in range((last - first).days // 7 + 1)}
        for at, amount in times:
            sums[min(max(_find_monday(at), first), last)] += amount
        return tuple((monday.isoformat(), amount) for monday, amount in sums.items())


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


def _find_monday(at: float) -> date:
    day = datetime.fromtimestamp(min(max(0.0, at), 4e9)).date()  # of a damaged record, the nearest
    return day - timedelta(days=day.weekday())
