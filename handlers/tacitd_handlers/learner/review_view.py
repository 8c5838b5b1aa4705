"""The review as lines for a person, with bars on a terminal. Pure: a document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacitd.text.plurals import count_noun

WIDTH = 24


def format_review(document: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    """The lines of the whole review."""
    totals = document["totals"]
    if not totals["rows"]:
        yield "Nothing is recorded yet."
        return
    yield (
        f"{count_noun(totals['sessions'], 'session')}, {count_noun(totals['rows'], 'review')} of "
        f"{count_noun(totals['problems'], 'problem')}, {count_noun(totals['patterns'], 'pattern')}, {totals['first'][:10]} to {totals['last'][:10]}"
    )
    yield from _verdicts(document, bars)
    yield from _months(document, bars)
    yield from _patterns(document, bars)
    yield from _weaknesses(document)
    yield from _lists(document)


def _bar(number: int, of: int, bars: bool) -> str:
    if not bars or of <= 0:
        return ""
    filled = round(WIDTH * number / of)
    return " " + "█" * filled + "·" * (WIDTH - filled)


def _verdicts(document: Mapping[str, Any], bars: bool) -> Iterator[str]:
    for mode, counts in document["verdicts"].items():
        total = sum(counts.values())
        if not total:
            continue
        yield f"\nVerdicts, {mode}"
        for verdict, number in counts.items():
            yield f"  {verdict:<36}{number:>6}{_bar(number, total, bars)}"


def _months(document: Mapping[str, Any], bars: bool) -> Iterator[str]:
    yield "\nWithout help, by month"
    for one in document["months"]:
        share = f"{one['without_help']} of {one['rows']}"
        yield f"  {one['month']}  {share:>14}{_bar(one['without_help'], one['rows'], bars)}"


def _patterns(document: Mapping[str, Any], bars: bool) -> Iterator[str]:
    if not document["patterns"]:
        return
    yield "\nPatterns, longest untouched first"
    most = max(one["sessions"] for one in document["patterns"])
    for one in document["patterns"]:
        left = f"  untouched for {one['days'] // 7} weeks" if one["untouched"] else ""
        yield f"  {one['pattern']:<24}{one['sessions']:>6}  {one['last'][:10]}{_bar(one['sessions'], most, bars)}{left}"


def _weaknesses(document: Mapping[str, Any]) -> Iterator[str]:
    if not document["weaknesses"]:
        return
    yield "\nWeaknesses"
    for one in document["weaknesses"]:
        yield f"  {one['label']:<32}  {one['status'] or 'cannot be read'}: {one['trajectory']}"


def _lists(document: Mapping[str, Any]) -> Iterator[str]:
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
