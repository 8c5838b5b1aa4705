"""What a section of the report consists of. A plugin's hook `report` returns these values, and the engine renders them.

A plugin passes text as it is: the engine makes it safe for HTML and removes hidden characters. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, assert_never

from msgspec import Struct

__all__ = ["Cell", "ReportPart", "ReportScope", "ReportSection", "ReportSeries", "ReportTable"]

Cell = str | int | float | None
"""A number is aligned to the right; None is shown as `unknown`."""


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
        """Whether the report includes this project, given its root."""
        return self.root is None or Path(root) == self.root

    def covers_time(self, at: float) -> bool:
        """Whether a time (seconds since 1970, UTC) is in the report's span."""
        return self.since <= at <= self.now


class ReportTable(Struct, frozen=True):
    """Rows with a head."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """One cell for each column, the most important row first."""
    empty: str = "none"
    """What is shown instead if there is no row."""


class ReportSeries(Struct, frozen=True):
    """Values in an order, usually over time."""

    title: str
    points: tuple[tuple[str, float], ...]
    """A label and a value of at least 0 for each."""
    unit: Literal["", "$"] = ""
    form: Literal["bars", "points"] = "bars"


ReportPart = ReportTable | ReportSeries


class ReportSection(Struct, frozen=True):
    """One heading of the report."""

    heading: str
    parts: tuple[ReportPart, ...] = ()
    note: str = ""
    """One or two sentences below the heading: what is counted, and what is unknown."""


def describe_section(section: ReportSection) -> dict[str, Any]:
    """Return a section as JSON: `heading`, `note` and `parts`.

    A part is `{"kind": "table", "title", "columns", "rows"}` or `{"kind": "series", "title", "unit", "points"}`, where a point
    is `{"label", "value"}`.
    """
    parts = [_describe_part(part) for part in section.parts]
    return {"heading": section.heading, "note": section.note, "parts": parts}


def _describe_part(part: ReportPart) -> dict[str, Any]:
    match part:
        case ReportTable():
            rows = [list(row) for row in part.rows]
            return {"kind": "table", "title": part.title, "columns": list(part.columns), "rows": rows}
        case ReportSeries():
            points = [{"label": label, "value": value} for label, value in part.points]
            return {"kind": "series", "title": part.title, "unit": part.unit, "points": points}
        case _:
            assert_never(part)
