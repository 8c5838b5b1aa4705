"""The engine's own sections: what the model calls cost, and changes of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from tacitd.clock import parse_utc
from tacitd.files.history_archive import HistoryArchive
from tacitd.files.log import Log
from tacitd.model.spend_report import report_spending, sum_rows
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries, ReportTable, make_buckets
from tacitd.store import open_readonly
from tacitd.text.dollars import format_dollars
from tacitd.text.plurals import count_noun

EFFECTS = {"put": "lines added", "swapped": "lines replaced", "taken": "lines removed"}
"""What a transaction did with a line, by the word in its record."""


def build_spending(scope: ReportScope) -> ReportSection:
    """What the model calls cost, by week and by purpose. Raises TacitdError."""
    buckets, root = make_buckets(scope.since, scope.now), "" if scope.root is None else str(scope.root)
    with open_readonly(scope.state_dir) or nullcontext() as store:
        by_day = report_spending(store, "day", scope.since, root) if store is not None else []
        rows = report_spending(store, "purpose", scope.since, root) if store is not None else []
    days = [(datetime.fromisoformat(row.name).timestamp(), row.usd) for row in by_day]
    total = sum_rows(rows)
    cells = tuple(
        (row.name, row.calls, row.unanswered, f"{'~' if row.assumed_usd else ''}{format_dollars(row.usd)}")
        for row in rows
    )
    note = f"{count_noun(total.calls, 'call')} for {format_dollars(total.usd)}."
    if total.assumed_usd:
        note += " ~ marks a cost that is assumed, because the client reported none."
    series = ReportSeries(f"Dollars by {buckets.unit}", buckets.count(days), "$")
    table = ReportTable("By purpose", ("purpose", "calls", "without an answer", "dollars"), cells)
    return ReportSection("What it cost", (series, table), note)


def build_changes(scope: ReportScope) -> ReportSection:
    """How many changes were made in projects' files, by week. Raises OSError."""
    buckets = make_buckets(scope.since, scope.now)
    lines = Counter[str]()
    log = HistoryArchive(Log(scope.state_dir / "history.jsonl"))
    points = buckets.count((at, 1) for at in _count_changes(log.read_all(), scope, lines))
    series = ReportSeries(f"Changes by {buckets.unit}", points)
    table = ReportTable(
        "", ("what", "number"), tuple((what, lines[kind]) for kind, what in EFFECTS.items() if lines[kind])
    )
    note = (
        "Every write in a project's files; `tacitd history` shows each one, and `tacitd undo` takes it back."
    )
    return ReportSection("Changes in files", (series, table), note)


def _count_changes(
    records: Iterable[Mapping[str, Any]], scope: ReportScope, lines: Counter[str]
) -> Iterator[float]:
    """Yield the times of the finished transactions of the scope, and count their effects on lines.

    Only those that are not finished yet are kept meanwhile, because the history can have hundreds of megabytes.
    """
    begun: dict[str, float] = {}
    for record in records:
        id, state = str(record.get("id")), record.get("state")
        if state == "intent":
            at = parse_utc(record.get("at")) or 0.0
            if scope.covers_time(at) and scope.covers_project(str(record.get("root"))):
                begun[id] = at
        elif state in ("done", "dropped") and (known := begun.pop(id, None)) is not None and state == "done":
            yield known
            did = record.get("did")
            lines.update(str(effect[0]) for effect in did if effect) if isinstance(did, list) else None
