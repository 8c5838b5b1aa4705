"""Review intervals and dates (SPEC L-41 to L-46). Pure: days, stamps and ISO dates.

`previous` is the interval with which the latest earlier row of the same problem was scheduled.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from tacitd_handlers.learner.rules.vocabulary import LEARNING, time_of

FIXED: Final = {
    "solved_independently": 7,
    "solved_with_minor_hints": 3,
    "solved_with_significant_scaffolding": 1,
    "did_not_reach_solution": 1,
    "borderline": 2,
    "needs_work": 1,
}
"""Days until the review, for verdicts whose interval does not grow (SPEC L-42, L-46)."""
GROWING: Final = {"strong_pass": (7, 2, 1), "pass": (5, 3, 2)}
"""The minimum in days, and the growth factor as a fraction: x2 and x1.5, rounded down (SPEC L-42, L-44)."""
FURTHEST: Final = 3_000_000
"""Days: more than the calendar has, so that growth stays finite."""


def days_until(verdict: str, previous: int | None, *, early: bool = False, longest: int | None = None) -> int:
    """The days until the review after this verdict.

    `early`: the problem was not due yet, and intervals grow only when due (`learner.grow_only_when_due`). `longest`:
    the maximum interval in days (`learner.longest_interval`; SPEC L-45).
    """
    if verdict in FIXED:
        days = FIXED[verdict]
    else:
        least, times, over = GROWING[verdict]
        grown = previous or 0
        if not early:
            grown = min(grown, FURTHEST) * times // over
        days = max(least, grown)
    return days if longest is None else min(days, longest)


def review_date(stamp: str, days: int) -> str:
    """The stamp's date plus `days`, as an ISO date; at most 9999-12-31. Raises ValueError for an invalid stamp."""
    when = time_of(stamp)
    if when is None:
        raise ValueError(f"{stamp!r} is not a stamp")
    try:
        return (when.date() + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()


def read_interval(stamp: str, review: str) -> int | None:
    """The interval of a row in days. None if its review date does not parse or is before its stamp (SPEC L-43)."""
    when, due = time_of(stamp), date_of(review)
    if when is None or due is None or due < when.date():
        return None
    return (due - when.date()).days


def date_of(text: str) -> date | None:
    """Given `YYYY-MM-DD`, return the date; None for anything else."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def describe_reason(mode: str, verdict: str, interval: int | None) -> str:
    """Why a review is due, for the output of `due`."""
    how = "learned" if mode == LEARNING else "recalled"
    after = f", {interval} days later" if interval else ""
    return f"{how} with {verdict}{after}"
