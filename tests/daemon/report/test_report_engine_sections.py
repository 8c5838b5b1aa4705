"""The engine's sections: changes and cost, counted from the rows of the store."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from support_calls import open_budget, spend
from tacitd.cli.report_command import build_spending
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries
from tacitd.testing import FakeClock

DAY = 86_400.0
NOW = datetime(2026, 2, 18, 12).timestamp()


def make_scope(state: Path, root: Path | None = None, days: float = 90.0, now: float = NOW) -> ReportScope:
    return ReportScope(state, {}, root, now - days * DAY, now)


def points_of(section: ReportSection) -> dict[str, float]:
    (series,) = [part for part in section.parts if isinstance(part, ReportSeries)]
    return dict(series.points)


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
