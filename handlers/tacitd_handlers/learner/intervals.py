"""When a problem is to be seen again (SPEC L-41 to L-46). Pure: days and dates.

`previous` is the interval that the latest earlier row of the same problem was scheduled with.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from tacitd_handlers.learner.words import LEARNING, time_of

FIXED: Final = {
    "solved_independently": 7,
    "solved_with_minor_hints": 3,
    "solved_with_significant_scaffolding": 1,
    "did_not_reach_solution": 1,
    "borderline": 2,
    "needs_work": 1,
}
"""Days (SPEC L-42, L-46)."""
GROWING: Final = {"strong_pass": (7, 2, 1), "pass": (5, 3, 2)}
"""The least days, and the factor as a fraction: x2 and x1.5, rounded down (SPEC L-42, L-44)."""
FURTHEST: Final = 3_000_000
"""Days: past every date there is."""


def days_until(verdict: str, previous: int | None, *, early: bool = False, longest: int | None = None) -> int:
    """The days until the review after this verdict.

    `early`: the problem was not due yet, and intervals grow only when they are (`learner.grow_only_when_due`).
    `longest`: no interval is longer (`learner.longest_interval`; SPEC L-45).
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
    """The ISO date so many days after the session's date. Raises ValueError for a stamp that is none."""
    when = time_of(stamp)
    if when is None:
        raise ValueError(f"{stamp!r} is no stamp")
    try:
        return (when.date() + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()


def scheduled(stamp: str, review: str) -> int | None:
    """The interval that a row was scheduled with; None where its date does not parse or lies before it (SPEC L-43)."""
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


def reason(mode: str, verdict: str, interval: int | None) -> str:
    """Why a review is due, in a few words."""
    how = "learned" if mode == LEARNING else "recalled"
    after = f", {interval} days later" if interval else ""
    return f"{how} with {verdict}{after}"
