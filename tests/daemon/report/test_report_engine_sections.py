"""The engine's sections: changes and cost, counted from the logs as they are on the disk."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support_calls import open_budget, spend
from tacitd.clock import utc_millis
from tacitd.files.log import Log
from tacitd.files.operations import PutLine
from tacitd.files.transaction import History
from tacitd.report.engine_sections import build_changes, build_spending
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


def test_real_transactions_are_counted(tmp_path: Path) -> None:
    """Lines and the time span, from a log that `History` wrote with torn and foreign lines in it."""
    clock = FakeClock()
    history = History(Log(tmp_path / "history.jsonl"), clock)
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    put = [PutLine(roots[0] / "LEARNED.md", "Coding", "Use pnpm", "Learned")]
    first = history.run_transaction(roots[0], put, {"by": "learning"}, "a").id
    clock.advance(60.0)
    other = [PutLine(roots[1] / "LEARNED.md", "Coding", "Use tabs", "Learned")]
    history.run_transaction(roots[1], other, {"by": "learning"}, "b")
    history.undo_transaction(first)
    with (tmp_path / "history.jsonl").open("a") as log:
        log.write('{"id": "x", "state": "sung"}\n{"id": "torn", "sta')
    made = build_changes(make_scope(tmp_path, now=clock.now()))
    assert rows_of(made)["lines added"] == 2
    assert rows_of(made)["lines removed"] == 1
    assert sum(points_of(made).values()) == 3
    only = build_changes(make_scope(tmp_path, roots[1], now=clock.now()))
    assert sum(points_of(only).values()) == 1
    clock.advance(100 * DAY)
    assert sum(points_of(build_changes(make_scope(tmp_path, now=clock.now()))).values()) == 0


def records(number: int) -> Iterator[dict[str, Any]]:
    """So many finished transactions, and their records as the history log has them."""
    for n in range(number):
        at = utc_millis(NOW - (n % 80) * DAY)
        line = {"op": "put", "path": "/app/LEARNED.md", "heading": "Coding", "line": f"Use tool {n}"}
        yield {
            "id": str(n),
            "state": "intent",
            "key": str(n),
            "at": at,
            "root": "/app",
            "ops": [line],
            "cause": {},
        }
        yield {"id": str(n), "state": "done", "at": at, "written": ["/app/LEARNED.md"], "did": [["put"]]}


@pytest.mark.undated
def test_memory_does_not_grow_with_the_history(tmp_path: Path) -> None:
    """20,000 and then 60,000 transactions: all are counted, and the larger history needs at most 1 MB more."""
    peaks: list[int] = []
    for number in (20_000, 60_000):
        with (tmp_path / "history.jsonl").open("w") as opened:
            opened.writelines(json.dumps(one) + "\n" for one in records(number))
        tracemalloc.start()
        made = build_changes(make_scope(tmp_path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sum(points_of(made).values()) == number
    assert peaks[1] - peaks[0] < 1 << 20


def test_cost_is_that_of_the_scope(tmp_path: Path) -> None:
    """By week and purpose; another project's calls are not included, and an assumed cost is marked."""
    clock = FakeClock()
    with open_budget(tmp_path, clock) as budget:
        for key, usd, project in (("a", 0.25, "/one"), ("b", 0.5, "/two"), ("c", None, "/one")):
            spend(budget, f"extraction:{key}", usd, project=project)
    every = build_spending(make_scope(tmp_path, now=clock.now()))
    assert every.note.startswith("3 calls for $") and "~ marks" in every.note
    only = build_spending(make_scope(tmp_path, Path("/two"), now=clock.now()))
    assert only.note.startswith("1 call for $0.50") and "~" not in only.note
    assert sum(points_of(only).values()) == 0.5
    none = build_spending(make_scope(tmp_path / "none", now=clock.now()))
    assert none.note.startswith("0 calls for $0.00")
