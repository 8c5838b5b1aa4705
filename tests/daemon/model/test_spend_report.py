"""What calls cost by day, project, purpose and model."""

from __future__ import annotations

from pathlib import Path

from support_calls import WIDE, spend
from tacitd.clock import local_date
from tacitd.model.budget import NAMELESS, Budget, report_spending, sum_rows
from tacitd.model.port import ModelRequest
from tacitd.store import Store
from tacitd.testing import FakeClock

DAY = 86400.0


def test_each_grouping_of_real_rows(tmp_path: Path) -> None:
    """Written by the budget itself: three calls on two days, one without an answer, one of them in flight."""
    clock = FakeClock()
    store = Store.open(tmp_path / "state", clock)
    budget = Budget(store, WIDE, clock)
    spend(budget, "extraction", 0.01, project="/home/ada/app", model="haiku")
    spend(budget, "synthesis", 0.05, project="/home/ada/app", why="timed out")
    clock.advance(2 * DAY)
    spend(budget, "extraction", None, project="/home/ada/other", model="haiku")
    budget.begin_call(ModelRequest("?", "accurate", purpose="session"))
    first, second = local_date(clock.now() - 2 * DAY), local_date(clock.now())
    days = report_spending(store.rows, "day")
    assert [(row.name, row.calls, row.unanswered) for row in days] == [(first, 2, 1), (second, 2, 1)]
    assert [(row.name, round(row.usd, 2)) for row in report_spending(store.rows, "project")] == [
        (NAMELESS, 0.25),
        ("/home/ada/app", 0.06),
        ("/home/ada/other", 0.01),
    ]
    assert {row.name for row in report_spending(store.rows, "purpose")} == {
        "extraction",
        "synthesis",
        "session",
    }
    models = {row.name: row.calls for row in report_spending(store.rows, "model")}
    assert models == {"haiku": 2, "(fast tier)": 1, "(accurate tier)": 1}
    late = report_spending(store.rows, "day", clock.now() - DAY)
    assert [row.name for row in late] == [second] and round(late[0].assumed_usd, 2) == 0.26
    (only,) = report_spending(store.rows, "purpose", root="/home/ada/other")
    assert (only.name, only.calls) == ("extraction", 1)
    total = sum_rows(days)
    assert (total.calls, total.tokens_in, total.tokens_out) == (4, 300, 30)
    assert days[0].as_data() == {
        "name": first,
        "calls": 2,
        "unanswered": 1,
        "usd": 0.06,
        "assumed_usd": 0.0,
        "tokens_in": 200,
        "tokens_out": 20,
    }
    store.close()
