"""The review: all statistics of the two files as one document, and as lines for a person (SPEC L-53). Pure.

`due` is a part of it. Numbers come from the ledger, statuses from the profile. Stamps and dates are local, without a zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tacitd.text.plurals import count_noun
from tacitd_handlers.learner.gap_descriptions import is_specific
from tacitd_handlers.learner.ledger_file import LedgerRow, has_header, parse_ledger
from tacitd_handlers.learner.notices import find_retests, format_command
from tacitd_handlers.learner.profile_text import LearnerProfile
from tacitd_handlers.learner.review_dates import find_due
from tacitd_handlers.learner.vocabulary import (
    RECURRING,
    UNKNOWN,
    VERDICTS,
    names_a_session,
    time_of,
)
from tacitd_handlers.learner.weakness_entries import match_entries
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, MAX_RESOLVED, SPAN
from tacitd_handlers.learner.weakness_text import WeaknessEntry

SCHEMA = 1
MONTHS = 12
GOOD = {"solved_independently", "strong_pass", "pass"}
"""Verdicts of problems solved without help."""


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
    for row in rows:
        for tag in row.tags if row.gaps != "none" else ():
            count[tag] += 1
            first.setdefault(tag, row.stamp)
            last[tag] = row.stamp
    entries = match_entries(profile, count, aliases or {}) if profile is not None else {}
    found = []
    for tag, seen in count.items():
        placed = entries.get(tag)
        status, clean = (placed.entry.status or "", placed.entry.clean) if placed is not None else ("", None)
        found.append(Gap(tag, seen, first[tag], last[tag], status, clean))
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
    tags = {placed.span: tag for tag, placed in match_entries(profile, gaps, aliases).items()}
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
    own = [one["label"] for one in document["weaknesses"] if one["tag"] is None]
    if own and document["gaps"]:
        steps.append(
            f"Join a label of your own with its gap, if it is one: `{format_command('alias', own[0], 'TAG')}`."
        )
    if document["waiting"]:
        steps.append(f"Archive a weakness; waiting for room: {', '.join(document['waiting'])}.")
    return steps


def format_review(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the whole review."""
    totals = document["totals"]
    if not totals["rows"]:
        yield "Nothing is recorded yet."
        return
    yield (
        f"{count_noun(totals['sessions'], 'session')}, {count_noun(totals['rows'], 'review')} of "
        f"{count_noun(totals['problems'], 'problem')}, {count_noun(totals['patterns'], 'pattern')}, {totals['first'][:10]} to {totals['last'][:10]}"
    )
    yield from _format_verdicts(document)
    yield from _format_months(document)
    yield from _format_patterns(document)
    yield from _format_weaknesses(document)
    yield from _format_lists(document)


def _format_verdicts(document: Mapping[str, Any]) -> Iterator[str]:
    for mode, counts in document["verdicts"].items():
        total = sum(counts.values())
        if not total:
            continue
        yield f"\nVerdicts, {mode}"
        for verdict, number in counts.items():
            yield f"  {verdict:<36}{number:>6}"


def _format_months(document: Mapping[str, Any]) -> Iterator[str]:
    yield "\nWithout help, by month"
    for one in document["months"]:
        share = f"{one['without_help']} of {one['rows']}"
        yield f"  {one['month']}  {share:>14}"


def _format_patterns(document: Mapping[str, Any]) -> Iterator[str]:
    if not document["patterns"]:
        return
    yield "\nPatterns, longest untouched first"
    for one in document["patterns"]:
        left = f"  untouched for {one['days'] // 7} weeks" if one["untouched"] else ""
        yield f"  {one['pattern']:<24}{one['sessions']:>6}  {one['last'][:10]}{left}"


def _format_weaknesses(document: Mapping[str, Any]) -> Iterator[str]:
    if not document["weaknesses"]:
        return
    yield "\nWeaknesses"
    for one in document["weaknesses"]:
        yield f"  {one['label']:<32}  {one['status'] or 'cannot be read'}: {one['trajectory']}"


def _format_lists(document: Mapping[str, Any]) -> Iterator[str]:
    if document["due"]:
        yield "\nDue for review"
        yield from (f"  {one['review']}  {one['problem']}: {one['reason']}" for one in document["due"][:10])
        if len(document["due"]) > 10:
            yield f"  and {len(document['due']) - 10} more: `tacitd learner due`"
    if document["retests"]:
        yield "\nRetests (optional)"
        yield from (f"  {one['label']} (last tested {one['tested'][:10]})" for one in document["retests"])
    if document["next"]:
        yield "\nNext"
        yield from (f"  {step}" for step in document["next"])


def find_problems(ledger: bytes, profile: LearnerProfile | None) -> list[tuple[str, str, str]]:
    """File, place and text of each problem that only a person can correct."""
    table = parse_ledger(ledger)
    found: list[tuple[str, str, str]] = []
    if ledger and not has_header(ledger):
        found.append(("ledger", "line 1", "the table has no header"))
    for bad in table.bad:
        line = ledger.count(b"\n", 0, bad.offset) + 1
        found.append(("ledger", f"line {line}", f"is skipped: {bad.why}: {bad.text}"))
    for row in table.rows:
        if row.verdict not in VERDICTS.get(row.mode, ()):
            what = f"{row.verdict!r} is not a verdict of the mode {row.mode!r}"
            found.append(("ledger", row.stamp, what))
    if profile is None:
        return found
    for placed in profile.weaknesses:
        entry = placed.entry
        if entry.missing_fields:
            found.append(("profile", entry.label, f"cannot be read: {', '.join(entry.missing_fields)}"))
        if not is_specific(entry.description):
            what = "the description names no input class or code pattern"
            found.append(("profile", entry.label, what))
    resolved = sum(placed.resolved for placed in profile.weaknesses)
    for name, number, most in (
        ("Known Weaknesses", len(profile.weaknesses) - resolved, MAX_ACTIVE),
        ("Resolved", resolved, MAX_RESOLVED),
    ):
        if number > most:
            found.append(("profile", name, f"{number} entries; the maximum is {most}, so new ones wait"))
    return found
