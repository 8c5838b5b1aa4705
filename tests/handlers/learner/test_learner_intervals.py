"""Review intervals and dates: SPEC L-41 to L-46."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learner.review_dates import days_until, read_interval, review_date
from tacitd_handlers.learner.vocabulary import VERDICTS


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


def test_L_45_cramming_by_default_and_by_choice() -> None:
    """SPEC L-45: growth follows the spec by default; growing only when due and a longest interval are options."""
    days = [7]
    for _ in range(4):
        days.append(days_until("strong_pass", days[-1]))
    assert days == [7, 14, 28, 56, 112]
    assert days_until("strong_pass", 28, early=True) == 28
    assert days_until("strong_pass", None, early=True) == 7
    assert days_until("strong_pass", 28, longest=40) == 40


@pytest.mark.parametrize(
    ("verdict", "days"),
    [
        ("strong_pass", (7, 14, 28)),
        ("pass", (5, 7, 10)),
        ("borderline", (2, 2, 2)),
        ("needs_work", (1, 1, 1)),
        ("solved_independently", (7, 7, 7)),
        ("solved_with_minor_hints", (3, 3, 3)),
        ("solved_with_significant_scaffolding", (1, 1, 1)),
        ("did_not_reach_solution", (1, 1, 1)),
    ],
)
def test_L_42_L_44_L_46_every_verdict(verdict: str, days: tuple[int, ...]) -> None:
    """SPEC L-35, L-41, L-42, L-44, L-46: every verdict, and what follows from the interval before."""
    before: int | None = None
    for wanted in days:
        before = days_until(verdict, before)
        assert before == wanted


@examples(50)
@given(st.integers(0, 10**12), st.sampled_from(sum(VERDICTS.values(), ())))
def test_L_45_unbounded_growth_ends_with_the_calendar(previous: int, verdict: str) -> None:
    """SPEC L-45: without a maximum a date can reach the end of the calendar, and nothing is raised."""
    assert review_date("2026-02-19T14:30", days_until(verdict, previous)) <= "9999-12-31"
