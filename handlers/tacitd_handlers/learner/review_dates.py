"""Review intervals and dates (SPEC L-41 to L-46), and what came before. Pure: rows, days, stamps and ISO dates.

`previous` is the interval with which the latest earlier row of the same problem was scheduled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final

from msgspec import Struct

from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.vocabulary import LEARNING, time_of

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

PAST_SESSIONS = 3
"""Earlier sessions of a problem that its trajectory names (SPEC L-40)."""


class ReviewPlan(Struct, frozen=True):
    """How intervals grow (the settings `learner.grow_only_when_due` and `learner.longest_interval`)."""

    grow_only_when_due: bool = False
    longest_interval: int | None = None


class DueReview(Struct, frozen=True):
    """A problem whose review date has come."""

    problem: str
    review: str
    days: int
    """Days since that date."""
    reason: str


def find_due(rows: Sequence[LedgerRow], on: date) -> list[DueReview]:
    """The problems whose latest review date is `on` or earlier, oldest first."""
    latest: dict[str, tuple[LedgerRow, date]] = {}
    for row in rows:
        when = date_of(row.review)
        if when is not None and (row.problem not in latest or latest[row.problem][0].stamp <= row.stamp):
            latest[row.problem] = row, when
    found = []
    for row, when in latest.values():
        if when <= on:
            how, days = (
                "learned" if row.mode == LEARNING else "recalled",
                read_interval(row.stamp, row.review),
            )
            after = f", {days} days later" if days else ""
            why = f"{how} with {row.verdict}{after} (on {row.stamp[:10]})"
            found.append(DueReview(row.problem, row.review, (on - when).days, why))
    return sorted(found, key=lambda one: (one.review, one.problem))


def find_review(row: LedgerRow, past: Iterable[LedgerRow], plan: ReviewPlan) -> str:
    """The review date of a row. `past`: the earlier rows of its problem, in the order of the ledger (SPEC L-43)."""
    scheduled = [one for one in past if read_interval(one.stamp, one.review) is not None]
    last = max(reversed(scheduled), key=lambda one: one.stamp, default=None)
    previous = read_interval(last.stamp, last.review) if last is not None else None
    early = plan.grow_only_when_due and last is not None and row.stamp[:10] < last.review
    days = days_until(row.verdict, previous, early=early, longest=plan.longest_interval)
    return review_date(row.stamp, days)


def describe_trajectory(past: Sequence[LedgerRow]) -> str:
    """One sentence on the earlier sessions of a problem, from the ledger (SPEC L-40)."""
    if not past:
        return "Trajectory: first session of this problem."
    latest = sorted(past, key=lambda row: row.stamp)[-PAST_SESSIONS:]
    return f"Trajectory: before this, {', '.join(f'{row.verdict} ({row.stamp[:10]})' for row in latest)}."


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
