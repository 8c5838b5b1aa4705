"""Continuity's section of `tacitd report`: sessions by week, and their open tasks. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacitd.clock import SystemClock, local_date
from tacitd.report.buckets import make_buckets
from tacitd.report.sections import Cell, ReportScope, ReportSection, ReportSeries, ReportTable
from tacitd.text.plurals import count_noun
from tacitd_handlers.continuity.session_choice import select_sessions
from tacitd_handlers.continuity.store import SessionFile, SessionStore, open_tasks
from tacitd_handlers.continuity.stored_text import clean_text

LIMIT = 1000
"""Open tasks that are listed, of the newest sessions."""


def build_sections(scope: ReportScope) -> Iterator[ReportSection]:
    """Yield the section. A file that cannot be read is counted. Raises OSError."""
    readable, unreadable = SessionStore.from_environ(scope.environ, SystemClock()).read_sessions(
        patient=False
    )
    found = readable if scope.root is None else select_sessions(readable, scope.root)
    recent = [one for one in found if scope.covers_time(one.last_active)]
    buckets = make_buckets(scope.since, scope.now)
    series = ReportSeries(
        f"Sessions by {buckets.unit} of their last activity",
        buckets.count((one.last_active, 1) for one in recent),
    )
    rows = tuple(row for one in recent for row in _list_tasks(one))
    table = ReportTable(
        "Open tasks", ("task", "project", "status", "waits for", "since"), rows[:LIMIT], "no task is open"
    )
    note = "Sessions are kept for 30 days. `tacitd sessions resume` begins with the last one."
    if unreadable:
        note += f" {count_noun(len(unreadable), 'session file')} cannot be read; `tacitd sessions list` names them."
    yield ReportSection("Sessions and open tasks", (series, table), note)


def _list_tasks(one: SessionFile) -> Iterator[tuple[Cell, ...]]:
    for task in open_tasks(one.document):
        yield (
            clean_text(task.get("title"), 160),
            Path(one.project).name,
            clean_text(task.get("status"), 20) or "pending",
            clean_text(task.get("blockedBy"), 120),
            local_date(one.last_active),
        )
