"""Review intervals and dates (SPEC L-41 to L-46), and what came before. Pure: rows, days, stamps and ISO dates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final

from msgspec import Struct

from tacitd_handlers.learner.ledger_file import LEARNING, LedgerRow, time_of

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
PAST_SESSIONS = 3
"""Earlier sessions of a problem that its trajectory names (SPEC L-40)."""


class ReviewPlan(Struct, frozen=True):
    """How intervals grow (the settings `learner.grow_only_when_due` and `learner.longest_interval`, in days; SPEC L-45)."""

    grow_only_when_due: bool = False
    longest_interval: int | None = None


class DueReview(Struct, frozen=True):
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
            days = _read_interval(row)
            after = f", {days} days later" if days else ""
            how = "learned" if row.mode == LEARNING else "recalled"
            why = f"{how} with {row.verdict}{after} (on {row.stamp[:10]})"
            found.append(DueReview(row.problem, row.review, (on - when).days, why))
    return sorted(found, key=lambda one: (one.review, one.problem))


def find_review(row: LedgerRow, past: Iterable[LedgerRow], plan: ReviewPlan) -> str:
    """The review date of a row with a valid stamp and verdict; at most 9999-12-31.

    `past`: the earlier rows of its problem, in the order of the ledger. The interval grows from the one that the latest of them was
    scheduled with; a row whose date does not parse counts as none (SPEC L-43).
    """
    scheduled = [one for one in past if _read_interval(one) is not None]
    last = max(reversed(scheduled), key=lambda one: one.stamp, default=None)
    days = FIXED.get(row.verdict, 0)
    if not days:
        least, times, over = GROWING[row.verdict]
        previous = (_read_interval(last) or 0) if last is not None else 0
        early = plan.grow_only_when_due and last is not None and row.stamp[:10] < last.review
        days = max(least, previous if early else previous * times // over)
    if plan.longest_interval is not None:
        days = min(days, plan.longest_interval)
    try:
        return (date.fromisoformat(row.stamp[:10]) + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()


def describe_trajectory(past: Sequence[LedgerRow]) -> str:
    """One sentence on the earlier sessions of a problem, from the ledger (SPEC L-40)."""
    if not past:
        return "Trajectory: first session of this problem."
    latest = sorted(past, key=lambda row: row.stamp)[-PAST_SESSIONS:]
    return f"Trajectory: before this, {', '.join(f'{row.verdict} ({row.stamp[:10]})' for row in latest)}."


def _read_interval(row: LedgerRow) -> int | None:
    """The interval of a row in days. None if its review date does not parse or is before its stamp (SPEC L-43)."""
    when, due = time_of(row.stamp), date_of(row.review)
    return None if when is None or due is None or due < when.date() else (due - when.date()).days


def date_of(text: str) -> date | None:
    """Given `YYYY-MM-DD`, return the date; None for anything else."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
