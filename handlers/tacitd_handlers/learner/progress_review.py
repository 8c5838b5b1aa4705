"""The review: all statistics of the two files as one document, and as lines for a person (SPEC L-53). Pure.

Numbers come from the ledger, statuses from the profile. Stamps and dates are local, without a zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from tacitd.text.wording import count_noun
from tacitd_handlers.learner.entry_texts import WeaknessEntry, is_specific
from tacitd_handlers.learner.ledger_file import (
    RECURRING,
    UNKNOWN,
    VERDICTS,
    LedgerRow,
    LedgerTable,
    format_command,
    names_a_session,
)
from tacitd_handlers.learner.practice_report import find_due
from tacitd_handlers.learner.session_start import find_retests
from tacitd_handlers.learner.weakness_entries import match_entries
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, MAX_RESOLVED, SPAN

Json = dict[str, Any]


def build_review(
    rows: Sequence[LedgerRow],
    entries: Sequence[WeaknessEntry],
    now: str,
    waiting: Sequence[str],
    aliases: Mapping[str, str],
) -> Json:
    """The document. `rows` are ordered by stamp; `now` is the local time as a stamp; `aliases`: the labels by tag."""
    on = date.fromisoformat(now[:10])
    stamps: dict[str, list[str]] = {}
    for row in rows:
        for tag in row.tags:
            stamps.setdefault(tag, []).append(row.stamp)
    tags = {entry.leaf: tag for tag, entry in match_entries(entries, stamps, aliases).items()}
    document = {
        "schema": 1,
        "as_of": now,
        "totals": _count_all(rows),
        "verdicts": _count_verdicts(rows),
        "patterns": _list_patterns(rows, on),
        "weaknesses": [_describe(one, tags.get(one.leaf), stamps) for one in entries],
        "due": find_due(rows, on),
        "retests": find_retests(entries, now),
        "waiting": list(waiting),
    }
    return document | {"next": list(_list_steps(document))}


def _count_all(rows: Sequence[LedgerRow]) -> Json:
    sessions = {row.session if names_a_session(row.session) else (row.session, row.stamp) for row in rows}
    return {
        "sessions": len(sessions),
        "rows": len(rows),
        "problems": len({row.problem for row in rows}),
        "patterns": len({row.pattern for row in rows if row.pattern != UNKNOWN}),
        "first": rows[0].stamp if rows else "",
        "last": rows[-1].stamp if rows else "",
    }


def _count_verdicts(rows: Sequence[LedgerRow]) -> Json:
    counted = Counter((row.mode, row.verdict) for row in rows)
    return {mode: {name: counted[mode, name] for name in names} for mode, names in VERDICTS.items()}


def _list_patterns(rows: Sequence[LedgerRow], on: date) -> list[Json]:
    by_pattern: dict[str, list[str]] = {}
    for row in rows:
        if row.pattern != UNKNOWN:
            by_pattern.setdefault(row.pattern, []).append(row.stamp)
    found = list[Json]()
    for pattern, stamps in by_pattern.items():
        days = (on - date.fromisoformat(stamps[-1][:10])).days
        one = {"pattern": pattern, "sessions": len(stamps), "last": stamps[-1], "days": days}
        found.append(one | {"untouched": days >= SPAN.days})
    return sorted(found, key=lambda one: (one["last"], one["pattern"]))


def _describe(entry: WeaknessEntry, tag: str | None, stamps: Mapping[str, Sequence[str]]) -> Json:
    seen = len(stamps[tag]) if tag is not None else None
    often = f"seen {count_noun(seen, 'time')}" if seen is not None else "not in the ledger"
    last = f", last on {entry.failed[:10]}" if entry.failed else ""
    since = f", {entry.clean} clean since" if entry.clean else ""
    return {
        "label": entry.label, "tag": tag, "description": entry.description, "status": entry.status,
        "resolved": entry.resolved, "first": entry.first, "tested": entry.tested, "failed": entry.failed,
        "clean": entry.clean, "seen": seen, "trajectory": f"{often}{last}{since}",
    }  # fmt: skip


def _list_steps(document: Json) -> Iterator[str]:
    weaknesses = document["weaknesses"]
    due = [one["problem"] for one in document["due"]]
    probing = [one["label"] for one in weaknesses if one["status"] == RECURRING and not one["resolved"]]
    retests = [one["label"] for one in document["retests"]]
    left = [one["pattern"] for one in document["patterns"] if one["untouched"]]
    own = [one["label"] for one in weaknesses if one["tag"] is None]
    if due:
        more = f" and {len(due) - 3} more" if len(due) > 3 else ""
        yield f"Review {', '.join(due[:3])}{more}: due."
    if probing:
        yield f"Probe {', '.join(probing[:3])}: recurring."
    if retests:
        yield f"Retest {', '.join(retests[:3])}: optional."
    if left:
        yield f"Practise {', '.join(left[:3])}: untouched for four weeks or more."
    if own:
        joins = format_command("alias", own[0], "TAG")
        yield f"Join a label of your own with its gap, if it is one: `{joins}`."
    if document["waiting"]:
        yield f"Archive a weakness; waiting for room: {', '.join(document['waiting'])}."


def format_review(document: Json) -> Iterator[str]:
    totals, due = document["totals"], document["due"]
    if not totals["rows"]:
        yield "Nothing is recorded yet."
        return
    counts = f"{count_noun(totals['sessions'], 'session')}, {count_noun(totals['rows'], 'review')}"
    counts += f" of {count_noun(totals['problems'], 'problem')}, {count_noun(totals['patterns'], 'pattern')}"
    yield f"{counts}, {totals['first'][:10]} to {totals['last'][:10]}"
    parts = {
        f"Verdicts, {mode}": [f"{verdict:<36}{number:>6}" for verdict, number in counted.items()]
        for mode, counted in document["verdicts"].items()
        if any(counted.values())
    }
    parts["Patterns, longest untouched first"] = [
        f"{one['pattern']:<24}{one['sessions']:>6}  {one['last'][:10]}"
        + (f"  untouched for {one['days'] // 7} weeks" if one["untouched"] else "")
        for one in document["patterns"]
    ]
    parts["Weaknesses"] = [
        f"{one['label']:<32}  {one['status'] or 'cannot be read'}: {one['trajectory']}"
        for one in document["weaknesses"]
    ]
    parts["Due for review"] = [f"{one['review']}  {one['problem']}: {one['reason']}" for one in due]
    parts["Retests (optional)"] = [
        f"{one['label']} (last tested {one['tested'][:10]})" for one in document["retests"]
    ]
    parts["Next"] = document["next"]
    for heading, lines in parts.items():
        if lines:
            yield f"\n{heading}"
            yield from (f"  {line}" for line in lines)


def find_problems(table: LedgerTable, entries: Sequence[WeaknessEntry]) -> Iterator[tuple[str, str, str]]:
    """File, place and text of each problem that only a person can correct."""
    for line, text in table.bad:
        yield "ledger", f"line {line}", f"is skipped: {text}"
    for row in table.rows:
        if row.verdict not in VERDICTS.get(row.mode, ()):
            yield "ledger", row.stamp, f"{row.verdict!r} is not a verdict of the mode {row.mode!r}"
    for one in entries:
        if one.missing_fields:
            yield "profile", one.label, f"cannot be read: {', '.join(one.missing_fields)}"
        if not is_specific(one.description):
            yield "profile", one.label, "the description names no input class or code pattern"
    resolved = sum(one.resolved for one in entries)
    for name, number, most in (
        ("Known Weaknesses", len(entries) - resolved, MAX_ACTIVE),
        ("Resolved", resolved, MAX_RESOLVED),
    ):
        if number > most:
            yield "profile", name, f"{number} entries; the maximum is {most}, so new ones wait"
