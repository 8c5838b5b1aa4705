"""Long-term resolution and retests: SPEC L-24 to L-27, L-50."""

from __future__ import annotations

import pytest

from tacitd_handlers.learner.vocabulary import IMPROVING, LONG, NEW, RECURRING, SHORT
from tacitd_handlers.learner.weakness_rules import Weakness, is_long_term, most_resolved, retest_due


def weakness(streak: str, tested: str, clean: int = 3, status: str = SHORT, tag: str = "edge:x") -> Weakness:
    return Weakness(tag, status, "2026-01-01T08:00", tested, "2026-01-02T08:00", streak, clean)


def always(stamp: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("tested", "holds"),
    [("2026-03-01T10:00", True), ("2026-03-01T09:59", False), ("2026-03-01T10:01", True)],
)
def test_L_24_28_days_inclusive(tested: str, holds: bool) -> None:
    """SPEC L-24: 28 days and 0 hours pass, a minute less fails; stamps are naive, so daylight saving time has no
    effect.
    """
    assert is_long_term(weakness("2026-02-01T10:00", tested), always) is holds
    over_summer_time = weakness("2026-03-15T10:00", tested.replace("03-01", "04-12"))
    assert is_long_term(over_summer_time, always) is holds


def test_L_24_time_alone_proves_nothing() -> None:
    """SPEC L-24: the last clean session counts, not today's date; three clean sessions are needed."""
    assert not is_long_term(weakness("2026-02-01T10:00", "2026-02-02T10:00"), always)
    assert not is_long_term(weakness("2026-02-01T10:00", "2026-04-01T10:00", clean=2), always)
    assert not is_long_term(weakness("", "2026-04-01T10:00"), always)


def test_L_25_the_ledger_must_have_both_rows() -> None:
    """SPEC L-25: rows at the streak's start and at the last clean session."""
    w = weakness("2026-02-01T10:00", "2026-04-01T10:00")
    for missing in ("2026-02-01T10:00", "2026-04-01T10:00"):
        others = {"2026-02-01T10:00", "2026-04-01T10:00"} - {missing}
        assert not is_long_term(w, others.__contains__)


def test_L_27_order_of_suggestions() -> None:
    """SPEC L-27: short-term > improving > new > recurring, then the longer streak, then the older test."""
    a = weakness("x", "2026-02-02T10:00", 5, SHORT, "a")
    b = weakness("x", "2026-02-01T10:00", 3, SHORT, "b")
    c = weakness("x", "2026-02-05T10:00", 3, SHORT, "c")
    d = weakness("x", "2026-02-01T10:00", 2, IMPROVING, "d")
    e = weakness("x", "2026-02-01T10:00", 0, NEW, "e")
    f = weakness("x", "2026-02-01T10:00", 0, RECURRING, "f")
    assert [w.tag for w in most_resolved([f, e, d, c, b, a])] == ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("status", "now", "days"),
    [
        (SHORT, "2026-03-15T10:00", 14),
        (SHORT, "2026-03-15T09:59", None),
        (SHORT, "2026-04-30T10:00", 60),
        (LONG, "2026-04-30T10:00", None),
        (RECURRING, "2026-04-30T10:00", None),
    ],
)
def test_L_50_retest_after_fourteen_days(status: str, now: str, days: int | None) -> None:
    """SPEC L-50: short-term only; 14 days inclusive."""
    assert retest_due(status, "2026-03-01T10:00", now) == days
    assert retest_due(SHORT, "", now) is None
