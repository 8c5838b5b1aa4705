"""The engine's own sections: what the model calls cost, and changes of files."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from datetime import datetime

from tacitd.clock import parse_utc
from tacitd.files.row_history import list_row_changes
from tacitd.model.spend_report import report_spending, sum_rows
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries, ReportTable, make_buckets
from tacitd.store import open_readonly
from tacitd.text.wording import count_noun, format_dollars

EFFECTS = ("lines added", "lines replaced", "lines removed")
"""What a change did with a line."""


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
    """How many changes were made in files, by week, and how many lines. Raises TacitdError."""
    buckets = make_buckets(scope.since, scope.now)
    with open_readonly(scope.state_dir) or nullcontext() as store:
        found = list_row_changes(store.rows, since=scope.since) if store is not None else []
    done = [(parse_utc(one["at"]) or 0.0, one) for one in found if scope.covers_project(one["root"])]
    done = [(at, one) for at, one in done if one["state"] == "done" and scope.covers_time(at)]
    lines = Counter[str](
        _name_effect(bool(line["added"]), bool(line["removed"])) for _, one in done for line in one["lines"]
    )
    series = ReportSeries(f"Changes by {buckets.unit}", buckets.count((at, 1) for at, _ in done))
    table = ReportTable("", ("what", "number"), tuple((what, lines[what]) for what in EFFECTS if lines[what]))
    note = "Every write in files that you edit too; `tacitd history` shows each one, and `tacitd undo` takes it back."
    return ReportSection("Changes in files", (series, table), note)


def _name_effect(was_added: bool, was_removed: bool) -> str:
    return EFFECTS[1 if was_added and was_removed else 0 if was_added else 2]
