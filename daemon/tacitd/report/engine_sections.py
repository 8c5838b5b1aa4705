"""The engine's own sections: what the model calls cost, and changes of files. Reads the budget's log and the history log.

The history can be hundreds of megabytes, so its records are counted one by one and not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.clock import parse_utc
from tacitd.files.history_archive import HistoryArchive
from tacitd.files.log import Log
from tacitd.files.transaction_records import UNDONE
from tacitd.model.spend_report import FOLDED, report_spending, sum_rows
from tacitd.report.buckets import Buckets, make_buckets
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries, ReportTable
from tacitd.text.dollars import format_dollars

KNOWN_STATES = {"intent", "part", "done", "dropped"}
NOON = "T12:00:00"


def build_spending(scope: ReportScope) -> ReportSection:
    """What the model calls cost, by week and by purpose. Raises OSError."""
    log = Log(scope.state_dir / "budget.jsonl", terminated=True)
    by_day = report_spending(_of_scope(log.read(), scope), "day", scope.since)
    days = [(_local_noon(row.name), row.usd) for row in by_day if row.name != FOLDED]
    rows = report_spending(_of_scope(log.read(), scope), "purpose", scope.since)
    total = sum_rows(rows)
    table = ReportTable(
        "By purpose",
        ("purpose", "calls", "without an answer", "dollars"),
        tuple(
            (
                row.name,
                row.calls,
                row.unanswered,
                f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}",
            )
            for row in rows
        ),
        "no model call was made",
    )
    buckets = make_buckets(scope.since, scope.now)
    calls = f"{total.calls} call{'' if total.calls == 1 else 's'}"
    note = f"{calls} for {format_dollars(total.usd)}."
    if total.assumed_usd:
        note += " ~ marks a cost that Claude Code did not report and that is assumed."
    note += " Calls are kept for two months, so older ones are not included."
    series = ReportSeries(f"Dollars by {buckets.unit}", buckets.count(days), "$")
    return ReportSection("What it cost", (series, table), note + _describe_bad(log))


class ChangeCounts(Struct):
    """The changes of files by their bucket's label."""

    changes: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    """By kind of effect, `put`, `swapped` or `taken`: how many lines."""
    files: int = 0
    """Files that were written, appended or removed as a whole."""
    undone: int = 0
    foreign: int = 0
    """Records that this version does not know."""


def build_changes(scope: ReportScope) -> ReportSection:
    """How many changes were made in projects' files, by week. Raises OSError."""
    log, buckets = Log(scope.state_dir / "history.jsonl"), make_buckets(scope.since, scope.now)
    counts = count_changes(HistoryArchive(log).read_all(), scope, buckets)
    points = tuple((label, float(counts.changes[label])) for label in buckets.labels)
    rows = (
        ("lines added", counts.lines["put"]),
        ("lines replaced", counts.lines["swapped"]),
        ("lines removed", counts.lines["taken"]),
        ("files written or removed as a whole", counts.files),
        ("changes undone", counts.undone),
    )
    note = (
        "Every write in a project's files; `tacitd history` shows each one, and `tacitd undo` takes it back."
    )
    if counts.foreign:
        note += f" {counts.foreign} records of history.jsonl are of an unknown kind and are not counted."
    parts = ReportSeries(f"Changes by {buckets.unit}", points), ReportTable("", ("what", "number"), rows)
    return ReportSection("Changes in files", parts, note + _describe_bad(log))


def count_changes(records: Iterable[Mapping[str, Any]], scope: ReportScope, buckets: Buckets) -> ChangeCounts:
    """Count the finished transactions of the scope. Only those that are not finished yet are kept meanwhile."""
    counts = ChangeCounts()
    begun: dict[str, tuple[float, bool]] = {}
    for record in records:
        id, state = str(record.get("id")), record.get("state")
        if state not in KNOWN_STATES:
            counts.foreign += 1
        elif state == "intent":
            at, cause = parse_utc(record.get("at")) or 0.0, record.get("cause")
            if scope.covers_time(at) and scope.covers_project(str(record.get("root"))):
                begun[id] = at, isinstance(cause, dict) and bool(cause.get(UNDONE))
        elif state in ("done", "dropped") and (known := begun.pop(id, None)) and state == "done":
            counts.changes[buckets.find_label(known[0])] += 1
            counts.undone += known[1]
            _count_effects(record.get("did"), counts)
    return counts


def _count_effects(did: object, counts: ChangeCounts) -> None:
    for one in did if isinstance(did, list) else ():
        what = one[0] if isinstance(one, list) and one else None
        if what in ("put", "swapped", "taken"):
            counts.lines[what] += 1
        elif what in ("written", "appended", "removed"):
            counts.files += 1


def _of_scope(records: Iterable[dict[str, Any]], scope: ReportScope) -> Iterator[dict[str, Any]]:
    """The records of calls for the scope's projects. The end of a call does not name its project."""
    for record in records:
        is_ours = record.get("state") == "begun" and scope.covers_project(str(record.get("project", "")))
        if scope.root is None or is_ours or record.get("state") == "ended":
            yield record


def _local_noon(day: str) -> float:
    """Given a local date, a time in it: seconds since 1970, UTC; 0 for anything else."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(day + NOON).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _describe_bad(log: Log) -> str:
    if not log.bad:
        return ""
    lines = "1 line" if log.bad == 1 else f"{log.bad} lines"
    return f" {lines} of {log.path.name} cannot be read and {'is' if log.bad == 1 else 'are'} not counted."
