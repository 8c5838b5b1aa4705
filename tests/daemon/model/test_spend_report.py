"""What calls cost by day, project, purpose and model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.clock import local_date
from tacitd.model.budget import Budget
from tacitd.model.spend_report import FOLDED, NAMELESS, GroupBy, report_spending, sum_rows
from tacitd.testing import FakeClock

DAY = 86400.0


class MemoryLog:
    """The records of a budget in memory."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def append(self, record: Any, /) -> None:
        self.records.append(dict(record))

    def read(self) -> list[dict[str, Any]]:
        return list(self.records)

    def flush(self) -> None:
        """It is memory."""

    def compact(self, records: Any, /) -> None:
        self.records = [dict(one) for one in records]


class NoCaps:
    """Caps that nothing reaches."""

    calls_per_minute = calls_per_day = 1_000_000
    usd_per_day = usd_per_month = 1e9


def spend(
    budget: Budget, key: str, usd: float | None, *, project: str = "", why: str = "", model: str = ""
) -> None:
    """One call from begin to end."""
    call = budget.begin_call(key, "fast", key.partition(":")[0], (), project)
    assert isinstance(call, str)
    budget.end_call(call, usd=usd, tokens_in=100, tokens_out=10, why=why, model=model)


def test_each_grouping_of_real_records() -> None:
    """Written by the budget itself: three calls on two days, one without an answer, one of them in flight."""
    log, clock = MemoryLog(), FakeClock()
    budget = Budget(log, NoCaps(), clock)
    spend(budget, "extraction:1", 0.01, project="/home/ada/app", model="haiku")
    spend(budget, "synthesis:1", 0.05, project="/home/ada/app", why="timed out")
    clock.advance(2 * DAY)
    spend(budget, "extraction:2", None, project="/home/ada/other", model="haiku")
    budget.begin_call("session:1", "accurate", "session")
    first, second = local_date(clock.now() - 2 * DAY), local_date(clock.now())
    days = report_spending(log.read(), "day")
    assert [(row.name, row.calls, row.unanswered) for row in days] == [(first, 2, 1), (second, 2, 1)]
    assert [(row.name, round(row.usd, 2)) for row in report_spending(log.read(), "project")] == [
        (NAMELESS, 0.25),
        ("/home/ada/app", 0.06),
        ("/home/ada/other", 0.01),
    ]
    assert {row.name for row in report_spending(log.read(), "purpose")} == {
        "extraction",
        "synthesis",
        "session",
    }
    models = {row.name: row.calls for row in report_spending(log.read(), "model")}
    assert models == {"haiku": 2, "(fast tier)": 1, "(accurate tier)": 1}
    late = report_spending(log.read(), "day", clock.now() - DAY)
    assert [row.name for row in late] == [second] and round(late[0].assumed_usd, 2) == 0.26
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


@pytest.mark.parametrize("by", ["day", "project", "purpose", "model"])
def test_what_a_compaction_summed_up_is_one_row(by: GroupBy) -> None:
    """Its days are not known, so it is left out if only newer calls are asked for."""
    log, clock = MemoryLog(), FakeClock()
    budget = Budget(log, NoCaps(), clock)
    spend(budget, "extraction:1", 0.25)
    clock.advance(90 * DAY)
    spend(budget, "extraction:2", 0.5)
    before = sum_rows(report_spending(log.read(), by))
    assert budget.compact_log()
    rows = report_spending(log.read(), by)
    assert [row.calls for row in rows if row.name == FOLDED] == [1] and sum_rows(rows) == before
    assert FOLDED not in [row.name for row in report_spending(log.read(), by, 1.0)]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=1),
)


@examples(100)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "state": st.sampled_from(["begun", "ended", "total", "planned", "x"]),
                "id": st.sampled_from(["a", "b"]),
            },
            optional=dict.fromkeys(
                ("at", "usd", "in", "out", "why", "tier", "project", "model", "calls"), VALUES
            ),
        )
    )
)
def test_damaged_records_spoil_nothing(records: list[dict[str, Any]]) -> None:
    """Whatever a line of the log holds, there is a report with finite sums."""
    for by in ("day", "project", "purpose", "model"):
        total = sum_rows(report_spending(records, by))
        assert 0 <= total.usd < 1e15 and 0 <= total.assumed_usd <= total.usd + 1e-6
