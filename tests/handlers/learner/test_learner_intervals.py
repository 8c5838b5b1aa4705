"""Review intervals and dates: SPEC L-41 to L-46."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learner.review_dates import days_until, read_interval, review_date
from tacitd_handlers.learner.vocabulary import VERDICTS


def test_L_41_stamp_plus_interval() -> None:
    """SPEC L-41: the stamp's date plus the days; both examples of the seed."""
    assert review_date("2026-02-19T14:30", 3) == "2026-02-22"
    assert review_date("2026-02-19T23:59", 7) == "2026-02-26"


@pytest.mark.parametrize(
    ("verdict", "previous", "days"),
    [
        ("strong_pass", None, 7),
        ("strong_pass", 2, 7),
        ("strong_pass", 10, 20),
        ("pass", None, 5),
        ("pass", 3, 5),
        ("pass", 10, 15),
        ("borderline", 30, 2),
        ("borderline", None, 2),
        ("needs_work", 30, 1),
        ("needs_work", None, 1),
    ],
)
def test_L_42_recall_intervals(verdict: str, previous: int | None, days: int) -> None:
    """SPEC L-42: x2 (at least 7), x1.5 (at least 5), 2, 1."""
    assert days_until(verdict, previous) == days


@pytest.mark.parametrize(
    ("stamp", "review", "days"),
    [
        ("2026-02-19T14:30", "2026-02-26", 7),
        ("2026-02-19T14:30", "2026-02-19", 0),
        ("2026-02-19T14:30", "—", None),
        ("2026-02-19T14:30", "2026-02-18", None),
        ("2026-02-19T14:30", "2026-02-30", None),
        ("2026-02-19T14:30", "20260226", None),
    ],
)
def test_L_43_the_scheduled_interval(stamp: str, review: str, days: int | None) -> None:
    """SPEC L-43: review date minus the row's own date; dates that do not parse are skipped."""
    assert read_interval(stamp, review) == days


def test_L_44_floor() -> None:
    """SPEC L-44: 5 x 1.5 = 7.5 is 7, as in the seed's own row (02-19 to 02-26)."""
    assert days_until("pass", 5) == 7
    assert review_date("2026-02-19T14:30", days_until("pass", 5)) == "2026-02-26"


def test_L_45_cramming_by_default_and_by_choice() -> None:
    """SPEC L-45: growth follows the spec by default; growing only when due and a longest interval are options."""
    days = [7]
    for _ in range(4):
        days.append(days_until("strong_pass", days[-1]))
    assert days == [7, 14, 28, 56, 112]
    assert days_until("strong_pass", 28, early=True) == 28
    assert days_until("strong_pass", None, early=True) == 7
    assert days_until("strong_pass", 28, longest=40) == 40


@pytest.mark.parametrize(("verdict", "days"), list(zip(VERDICTS["learning"], (7, 3, 1, 1), strict=True)))
def test_L_46_learning_intervals(verdict: str, days: int) -> None:
    """SPEC L-46: 7, 3, 1, 1, whatever came before; the seed's example 02-19 to 02-22."""
    assert days_until(verdict, 50) == days


@examples(50)
@given(st.integers(0, 10**12), st.sampled_from(sum(VERDICTS.values(), ())))
def test_L_45_unbounded_growth_ends_with_the_calendar(previous: int, verdict: str) -> None:
    """SPEC L-45: without a maximum a date can reach the end of the calendar, and nothing is raised."""
    assert review_date("2026-02-19T14:30", days_until(verdict, previous)) <= "9999-12-31"
