"""The review: all statistics of the two files as one document (SPEC L-53). Pure; reads nothing.

`due` and `gaps` are parts of it. Numbers come from the ledger, statuses from the profile. The text form is in
`review_view.py`. Stamps and dates are local, without a zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tacitd_handlers.learner.entry_matching import match_entries
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import LearnerProfile
from tacitd_handlers.learner.formats.weakness_md import WeaknessEntry
from tacitd_handlers.learner.rules.intervals import date_of, describe_reason, read_interval
from tacitd_handlers.learner.rules.resolution import SPAN
from tacitd_handlers.learner.rules.retests import find_retests
from tacitd_handlers.learner.rules.vocabulary import (
    RECURRING,
    UNKNOWN,
    VERDICTS,
    names_a_session,
    time_of,
)

SCHEMA = 1
MONTHS = 12
GOOD = {"solved_independently", "strong_pass", "pass"}
"""Verdicts of problems solved without help."""


class DueReview(Struct, frozen=True):
    """A problem whose review date has come."""

    problem: str
    review: str
    days: int
    """Days since that date."""
    reason: str


class PracticePattern(Struct, frozen=True):
    """A pattern and its last session."""

    pattern: str
    sessions: int
    last: str
    days: int
    untouched: bool
    """Whether that was four weeks ago or longer."""


class Gap(Struct, frozen=True):
    """A gap tag: how often the ledger shows it, and its status in the profile."""

    tag: str
    seen: int
    first: str
    last: str
    status: str
    clean: int | None
    by_month: Mapping[str, int]


def as_data(one: Any) -> dict[str, Any]:
    """An element of any of these lists, for JSON."""
    return asdict(one)


def find_due(rows: Sequence[LedgerRow], on: date) -> list[DueReview]:
    """The problems whose latest review date is `on` or earlier, oldest first. `rows` are ordered by stamp."""
    latest: dict[str, LedgerRow] = {}
    for row in rows:
        if date_of(row.review) is not None:
            latest[row.problem] = row
    found = []
    for row in latest.values():
        when = date_of(row.review)
        if when is not None and when <= on:
            why = f"{describe_reason(row.mode, row.verdict, read_interval(row.stamp, row.review))} (on {row.stamp[:10]})"
            found.append(DueReview(row.problem, row.review, (on - when).days, why))
    return sorted(found, key=lambda one: (one.review, one.problem))


def list_patterns(rows: Iterable[LedgerRow], on: date) -> list[PracticePattern]:
    """The patterns, except `unknown`, the one not practised for the longest time first."""
    count: Counter[str] = Counter()
    last: dict[str, str] = {}
    for row in rows:
        if row.pattern != UNKNOWN:
            count[row.pattern] += 1
            last[row.pattern] = row.stamp
    found = []
    for pattern, stamp in last.items():
        when = time_of(stamp)
        days = (on - when.date()).days if when is not None else 0
        found.append(PracticePattern(pattern, count[pattern], stamp, days, days >= SPAN.days))
    return sorted(found, key=lambda one: (one.last, one.pattern))


def list_gaps(
    rows: Iterable[LedgerRow], profile: LearnerProfile | None, aliases: Mapping[str, str] | None = None
) -> list[Gap]:
    """The gap tags, most frequent first. `aliases`: by tag, the label of its entry."""
    count: Counter[str] = Counter()
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    months: dict[str, Counter[str]] = {}
    for row in rows:
        for tag in row.tags if row.gaps != "none" else ():
            count[tag] += 1
            first.setdefault(tag, row.stamp)
            last[tag] = row.stamp
            months.setdefault(tag, Counter())[row.stamp[:7]] += 1
    entries = match_entries(profile, count, aliases or {}).by_tag if profile is not None else {}
    found = []
    for tag, seen in count.items():
        placed = entries.get(tag)
        status, clean = (placed.entry.status or "", placed.entry.clean) if placed is not None else ("", None)
        found.append(Gap(tag, seen, first[tag], last[tag], status, clean, dict(months[tag])))
    return sorted(found, key=lambda one: (-one.seen, one.tag))


def build_review(
    rows: Sequence[LedgerRow],
    profile: LearnerProfile | None,
    now: str,
    waiting: Sequence[str] = (),
    aliases: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The document.

    `rows` are ordered by stamp; `now` is the local time as a stamp; `waiting` are the tags that wait for room;
    `aliases` are the labels by tag.
    """
    on = date.fromisoformat(now[:10])
    coming, covered, seen = find_due(rows, on), list_patterns(rows, on), list_gaps(rows, profile, aliases)
    again = find_retests(profile, now) if profile is not None else []
    document = {
        "schema": SCHEMA,
        "as_of": now,
        "totals": _totals(rows),
        "verdicts": _verdicts(rows),
        "months": _months(rows),
        "patterns": [asdict(one) for one in covered],
        "weaknesses": _weaknesses(profile, seen, aliases or {}),
        "gaps": [asdict(one) for one in seen],
        "due": [asdict(one) for one in coming],
        "retests": [asdict(one) for one in again],
        "waiting": list(waiting),
    }
    return document | {"next": _next(document)}


def _totals(rows: Sequence[LedgerRow]) -> dict[str, Any]:
    sessions = {row.session if names_a_session(row.session) else (row.session, row.stamp) for row in rows}
    problems = {row.problem for row in rows}
    span = (rows[0].stamp, rows[-1].stamp) if rows else ("", "")
    return {
        "sessions": len(sessions),
        "rows": len(rows),
        "problems": len(problems),
        "patterns": len({row.pattern for row in rows} - {UNKNOWN}),
        "first": span[0],
        "last": span[1],
    }


def _verdicts(rows: Iterable[LedgerRow]) -> dict[str, dict[str, int]]:
    counted = Counter((row.mode, row.verdict) for row in rows)
    known = {
        mode: {verdict: counted.pop((mode, verdict), 0) for verdict in names}
        for mode, names in VERDICTS.items()
    }
    if counted:
        known["other"] = {f"{mode} {verdict}".strip(): number for (mode, verdict), number in counted.items()}
    return known


def _months(rows: Iterable[LedgerRow]) -> list[dict[str, Any]]:
    """Verdicts over time: the last twelve months with a session."""
    total: Counter[str] = Counter()
    good: Counter[str] = Counter()
    for row in rows:
        month = row.stamp[:7]
        total[month] += 1
        good[month] += row.verdict in GOOD
    recent = sorted(total)[-MONTHS:]
    return [{"month": month, "rows": total[month], "without_help": good[month]} for month in recent]


def _weaknesses(
    profile: LearnerProfile | None, seen: Sequence[Gap], aliases: Mapping[str, str]
) -> list[dict[str, Any]]:
    if profile is None:
        return []
    gaps = {gap.tag: gap for gap in seen}
    tags = {placed.span: tag for tag, placed in match_entries(profile, gaps, aliases).by_tag.items()}
    found = []
    for placed in profile.weaknesses:
        entry, gap = placed.entry, gaps.get(tags.get(placed.span, ""))
        found.append(
            {
                "label": entry.label,
                "tag": gap.tag if gap is not None else None,
                "description": entry.description,
                "status": entry.status,
                "resolved": placed.resolved,
                "first": entry.first,
                "tested": entry.tested,
                "failed": entry.failed,
                "clean": entry.clean,
                "seen": gap.seen if gap is not None else None,
                "by_month": dict(gap.by_month) if gap is not None else {},
                "trajectory": _trajectory(entry, gap),
            }
        )
    return found


def _trajectory(entry: WeaknessEntry, gap: Gap | None) -> str:
    often = (
        f"seen {gap.seen} {'time' if gap.seen == 1 else 'times'}" if gap is not None else "not in the ledger"
    )
    last = f", last on {entry.failed[:10]}" if entry.failed else ""
    since = f", {entry.clean} clean since" if entry.clean else ""
    return f"{often}{last}{since}"


def _next(document: Mapping[str, Any]) -> list[str]:
    """The next steps, most urgent first, derived from the document alone."""
    steps = []
    overdue = document["due"]
    if overdue:
        names = ", ".join(one["problem"] for one in overdue[:3])
        more = f" and {len(overdue) - 3} more" if len(overdue) > 3 else ""
        steps.append(f"Review {names}{more}: due.")
    probing = [
        one["label"] for one in document["weaknesses"] if one["status"] == RECURRING and not one["resolved"]
    ]
    if probing:
        steps.append(f"Probe {', '.join(probing[:3])}: recurring.")
    if document["retests"]:
        steps.append(f"Retest {', '.join(one['label'] for one in document['retests'][:3])}: optional.")
    left = [one["pattern"] for one in document["patterns"] if one["untouched"]]
    if left:
        steps.append(f"Practise {', '.join(left[:3])}: untouched for four weeks or more.")
    if document["waiting"]:
        steps.append(f"Archive a weakness; waiting for room: {', '.join(document['waiting'])}.")
    return steps
