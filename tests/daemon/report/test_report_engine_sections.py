"""The engine's sections: changes and cost, counted from the rows of the store."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from support_calls import open_budget, spend
from support_changes import store_change
from tacitd.cli.report_command import build_changes, build_spending
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries, ReportTable
from tacitd.testing import FakeClock

DAY = 86_400.0
NOW = datetime(2026, 2, 18, 12).timestamp()


def make_scope(state: Path, root: Path | None = None, days: float = 90.0, now: float = NOW) -> ReportScope:
    return ReportScope(state, {}, root, now - days * DAY, now)


def rows_of(section: ReportSection) -> dict[object, object]:
    (table,) = [part for part in section.parts if isinstance(part, ReportTable)]
    return {row[0]: row[1] for row in table.rows}


def points_of(section: ReportSection) -> dict[str, float]:
    (series,) = [part for part in section.parts if isinstance(part, ReportSeries)]
    return dict(series.points)


def test_changes_are_counted(tmp_path: Path) -> None:
    """Lines and the time span, of a project or of all."""
    clock = FakeClock()
    store_change(tmp_path, clock, Path("/one"), "Use pnpm")
    clock.advance(60.0)
    store_change(tmp_path, clock, Path("/two"), "Use tabs")
    store_change(tmp_path, clock, Path("/one"), removed=["Use pnpm"])
    made = build_changes(make_scope(tmp_path, now=clock.now()))
    assert rows_of(made) == {"lines added": 2, "lines removed": 1}
    assert sum(points_of(made).values()) == 3
    only = build_changes(make_scope(tmp_path, Path("/two"), now=clock.now()))
    assert sum(points_of(only).values()) == 1
    clock.advance(100 * DAY)
    assert sum(points_of(build_changes(make_scope(tmp_path, now=clock.now()))).values()) == 0
    assert rows_of(build_changes(make_scope(tmp_path / "none"))) == {}


def test_cost_is_that_of_the_scope(tmp_path: Path) -> None:
    """By week and purpose; another project's calls are not included, and an assumed cost is marked."""
    clock = FakeClock()
    with open_budget(tmp_path, clock) as budget:
        for usd, project in ((0.25, "/one"), (0.5, "/two"), (None, "/one")):
            spend(budget, "extraction", usd, project=project)
    every = build_spending(make_scope(tmp_path, now=clock.now()))
    assert every.note.startswith("3 calls for $") and "~ marks" in every.note
    only = build_spending(make_scope(tmp_path, Path("/two"), now=clock.now()))
    assert only.note.startswith("1 call for $0.50") and "~" not in only.note
    assert sum(points_of(only).values()) == 0.5
    none = build_spending(make_scope(tmp_path / "none", now=clock.now()))
    assert none.note.startswith("0 calls for $0.00")
