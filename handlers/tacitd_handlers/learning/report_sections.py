"""Learning's sections of `tacitd report`: what was learned, and which rules are not heeded. SELECTs; writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.clock import local_date
from tacitd.report.sections import Cell, ReportScope, ReportSection, ReportSeries, ReportTable, make_buckets
from tacitd_handlers.learning import UNHEEDED
from tacitd_handlers.learning.learned_rows import LineRow, LineState, read_lines
from tacitd_handlers.learning.line_queries import PROPOSAL, list_places, name_file

if TYPE_CHECKING:
    from tacitd.contract import Rows

NEWEST = 1000
"""Lines that are listed."""
_EVERY: tuple[LineState, ...] = ("present", "removed", "gone", "replaced", "withheld")
"""Without what is forgotten."""


def build_sections(rows: Rows, scope: ReportScope) -> Iterator[ReportSection]:
    """Yield what was learned, and whether it is heeded."""
    lines = list(_list_lines(rows, scope))
    yield build_learned(lines, scope)
    yield build_effects([one for one in lines if one[1].state == "present"], scope)


def _list_lines(rows: Rows, scope: ReportScope) -> Iterator[tuple[Path | None, LineRow]]:
    for place in list_places(rows, scope.root):
        yield from ((place.root, line) for line in read_lines(rows, place.number, _EVERY))


def build_learned(lines: list[tuple[Path | None, LineRow]], scope: ReportScope) -> ReportSection:
    """How many lines were written, by week, and the newest of those that are in the files now."""
    buckets = make_buckets(scope.since, scope.now)
    written = [
        (line.written_at, 1.0)
        for _, line in lines
        if line.by == "tacitd" and scope.covers_time(line.written_at)
    ]
    there = [
        (root, line) for root, line in lines if line.state == "present" and scope.covers_time(line.written_at)
    ]
    there.sort(key=lambda one: (-one[1].written_at, one[1].number))
    table = ReportTable(
        "Lines", ("line", "file", "since", "said"), tuple(_describe_line(*one) for one in there[:NEWEST])
    )
    note = (
        "The chart counts every line that was written, also what was undone or removed since, but not what is forgotten. "
        "The table has those that are in the files now."
    )
    series = ReportSeries(f"Lines written by {buckets.unit}", buckets.count(written))
    return ReportSection("What was learned", (series, table), note)


def _describe_line(root: Path | None, line: LineRow) -> tuple[Cell, ...]:
    file = name_file(line.path, root)
    where = f"{root.name}/{file}" if root is not None else file
    return line.text, where, local_date(line.written_at), line.said


def build_effects(lines: list[tuple[Path | None, LineRow]], scope: ReportScope) -> ReportSection:
    """The corrections that came although a line was written."""
    buckets = make_buckets(scope.since, scope.now)
    times = [(at, 1.0) for _, line in lines for at in line.corrected_since if scope.covers_time(at)]
    series = ReportSeries(f"Corrections of written rules by {buckets.unit}", buckets.count(times))
    unheeded = [one for one in lines if len(one[1].corrected_since) >= UNHEEDED]
    unheeded.sort(key=lambda one: -len(one[1].corrected_since))
    table = ReportTable(
        "Corrected again, still not heeded",
        ("rule", "project", "corrected since", "by month", "proposal"),
        tuple(
            (
                line.text,
                root.name if root is not None else "all projects",
                len(line.corrected_since),
                _format_months(line),
                PROPOSAL,
            )
            for root, line in unheeded
        ),
    )
    return ReportSection(
        "Does it help?",
        (series, table),
        "A correction counts if it says what the rule says already. Whether a rule without one helps is unknown.",
    )


def _format_months(line: LineRow) -> str:
    months = Counter(datetime.fromtimestamp(at).strftime("%Y-%m") for at in line.corrected_since)
    return ", ".join(f"{month}: {number}" for month, number in sorted(months.items()))
