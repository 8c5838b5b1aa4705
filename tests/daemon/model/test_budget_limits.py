"""The budget at its exact limits: equal, lowered while it runs, and at the ends of a minute, a month and two months."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tacitd.config.model_settings import BudgetSettings
from tacitd.files.log import Log
from tacitd.model.budget import KEPT, Budget, EndedCall, MinuteFull
from tacitd.model.port import NoAnswer, PurposeLimit
from tacitd.testing import FakeClock

NOVEMBER = datetime(2026, 11, 20, 12, 0).timestamp()


@pytest.fixture
def clock() -> FakeClock:
    """A clock at noon of 20 November 2026."""
    clock = FakeClock()
    clock.wall = NOVEMBER
    return clock


def caps(**given: Any) -> BudgetSettings:
    """Caps with room in the minute unless a test sets another."""
    return BudgetSettings(**{"calls_per_minute": 1000, **given})


def make(folder: Path, clock: FakeClock, **given: Any) -> Budget:
    return Budget(Log(folder / "budget.jsonl", terminated=True), caps(**given), clock)


def call(budget: Budget, usd: float = 0.25) -> NoAnswer | MinuteFull | None:
    """Begin and end one call; return why it is not allowed."""
    begun = budget.begin_call("key", "fast", "extraction")
    if not isinstance(begun, str):
        return begun
    budget.end_call(begun, usd=usd)
    return None


@pytest.mark.parametrize("cap", ["usd_per_day", "usd_per_month"])
def test_a_cap_that_is_reached_exactly_is_reached(tmp_path: Path, clock: FakeClock, cap: str) -> None:
    """SPEC S-64: two calls of a quarter reach half a dollar."""
    budget = make(tmp_path, clock, **{"usd_per_day": 9.0, "usd_per_month": 9.0, cap: 0.5})
    assert [call(budget), call(budget)] == [None, None] and isinstance(call(budget), NoAnswer)


@pytest.mark.parametrize("cap", ["calls_per_day", "usd_per_day", "usd_per_month"])
def test_a_cap_that_was_lowered_below_what_was_spent_refuses(
    tmp_path: Path, clock: FakeClock, cap: str
) -> None:
    """`tacitd reload` with a lower cap: what was spent still counts."""
    rich = {"usd_per_day": 9.0, "usd_per_month": 9.0}
    budget = make(tmp_path, clock, **rich)
    for _ in range(5):
        assert call(budget) is None
    budget.set_caps(caps(**{**rich, cap: 1}))
    assert isinstance(call(budget), NoAnswer)


def test_a_minute_that_was_made_smaller_is_full_until_enough_calls_are_old(
    tmp_path: Path, clock: FakeClock
) -> None:
    """SPEC S-64: with three calls a minute and five made, the third newest must become a minute old."""
    budget = make(tmp_path, clock)
    for _ in range(5):
        assert call(budget, 0.0) is None
        clock.advance(10.0)
    budget.set_caps(caps(calls_per_minute=3))
    assert call(budget, 0.0) == MinuteFull(3, pytest.approx(30.0))  # type: ignore[arg-type]
    clock.advance(29.5)
    assert isinstance(call(budget, 0.0), MinuteFull)
    clock.advance(1.0)
    assert call(budget, 0.0) is None


def test_a_call_counts_for_a_minute(tmp_path: Path, clock: FakeClock) -> None:
    """SPEC S-64: not a second less, and not for ever."""
    budget = make(tmp_path, clock, calls_per_minute=1)
    assert call(budget, 0.0) is None
    clock.advance(59.5)
    assert isinstance(call(budget, 0.0), MinuteFull)
    clock.advance(1.0)
    assert call(budget, 0.0) is None


def test_the_month_before_does_not_count(tmp_path: Path, clock: FakeClock) -> None:
    """SPEC S-64: what October cost is not November's, although both are of the same year and of two digits."""
    clock.wall = datetime(2026, 10, 31, 23, 59).timestamp()
    budget = make(tmp_path, clock)
    assert call(budget) is None
    clock.wall = datetime(2026, 11, 1, 0, 1).timestamp()
    assert call(budget, 0.5) is None
    spent = budget.get_spending(clock.now())
    assert (spent.calls_today, spent.usd_today, spent.usd_month, spent.usd_total) == (1, 0.5, 0.5, 0.75)


def test_a_call_without_tokens_counts_none(tmp_path: Path, clock: FakeClock) -> None:
    """The totals of a compaction contain only tokens that the client reported."""
    budget = make(tmp_path, clock)
    assert call(budget) is None
    clock.advance(KEPT + 1.0)
    assert call(budget) is None and budget.compact_log()
    total = next(iter(Log(tmp_path / "budget.jsonl").read()))
    assert (total["state"], total["calls"], total["in"], total["out"]) == ("total", 1, 0, 0)


def test_a_compaction_keeps_what_is_no_old_call(tmp_path: Path, clock: FakeClock) -> None:
    """A call of exactly 62 days, a discarded answer, and what a person allowed again, stay; two totals are added up."""
    budget = make(tmp_path, clock)
    budget.allow_again(["u1"])
    assert call(budget) is None
    assert KEPT == 62 * 86400.0
    for number in range(2):
        clock.advance(KEPT)
        begun = budget.begin_call("other", "fast", "extraction")
        assert isinstance(begun, str)
        budget.end_call(begun, usd=0.25)
        budget.mark_discarded(begun)
        assert budget.compact_log() is bool(number), "at first, nothing is older than 62 days"
        clock.advance(1.0)
        assert call(budget) is None and budget.compact_log()
    records = list(Log(tmp_path / "budget.jsonl").read())
    states = [one["state"] for one in records]
    assert states == ["total", "allowed", "begun", "ended", "unused", "begun", "ended"]
    assert records[0]["calls"] == 3
    before = budget.get_spending(clock.now())
    assert make(tmp_path, clock).get_spending(clock.now()) == before and before.calls_total == 5


def test_a_purpose_has_a_share_of_the_day_or_a_cap_of_its_own(tmp_path: Path, clock: FakeClock) -> None:
    """`PurposeLimit`: reached exactly or exceeded, other purposes go on."""
    budget = make(tmp_path, clock, usd_per_day=2.0, usd_per_month=9.0)

    def ask(limit: PurposeLimit, purpose: str = "grading") -> bool:
        begun = budget.begin_call("key", "fast", purpose, limit=limit)
        if isinstance(begun, str):
            budget.end_call(begun, usd=0.25)
        return isinstance(begun, str)

    assert [ask(PurposeLimit(share=0.25)) for _ in range(3)] == [True, True, False]
    assert [ask(PurposeLimit(share=0.0, usd=0.6)) for _ in range(2)] == [True, False]
    assert ask(PurposeLimit(share=0.25), "extraction")


def test_a_call_that_ended_is_reported_once(tmp_path: Path, clock: FakeClock) -> None:
    """For a person who watches: what it was for, its cost, and whether that is assumed."""
    ended: list[EndedCall] = []
    budget = Budget(Log(tmp_path / "budget.jsonl", terminated=True), caps(), clock, ended.append)
    for usd in (0.25, None):
        begun = budget.begin_call("key", "fast", "extraction", project="/app")
        assert isinstance(begun, str)
        budget.end_call(begun, usd=usd, why="" if usd else "timeout", model="small")
        budget.end_call(begun, usd=usd)
    assert [(one.usd, one.assumed, one.why) for one in ended] == [(0.25, False, ""), (0.25, True, "timeout")]
    assert {(one.purpose, one.project, one.model) for one in ended} == {("extraction", "/app", "small")}
