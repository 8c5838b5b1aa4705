"""The learner's section of `tacitd report`: problems over time, and the trajectory of each weakness. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tacitd.clock import SystemClock, local_minutes
from tacitd.report.sections import ReportScope, ReportSection, ReportSeries, ReportTable
from tacitd_handlers.learner import learner_paths
from tacitd_handlers.learner.command_options import load_settings
from tacitd_handlers.learner.formats.profile_md import parse_profile
from tacitd_handlers.learner.review import build_review
from tacitd_handlers.learner.rules.ledger_fold import in_order
from tacitd_handlers.learner.store import LearnerStore


def build_sections(scope: ReportScope) -> Iterator[ReportSection]:
    """Yield the section; nothing if nothing was practised. Raises OSError, TacitdError."""
    given = load_settings(scope.environ)
    places = learner_paths.resolve_paths(scope.environ, given.profile, given.ledger)
    store = LearnerStore(places, SystemClock(), settle=given.settle)
    table, profile = store.read_ledger().parse_rows(), store.read_profile()
    if not table.rows and profile is None:
        return
    parsed = parse_profile(profile) if profile is not None else None
    document = build_review(
        in_order(table.rows), parsed, local_minutes(scope.now), (), store.load_state().aliases
    )
    months = document["months"]
    weaknesses = tuple(
        (one["label"], one["status"] or None, one["seen"], one["clean"], one["trajectory"])
        for one in document["weaknesses"]
        if not one["resolved"]
    )
    columns = ("weakness", "status", "seen", "clean since", "trajectory")
    due = tuple((one["problem"], one["review"], one["reason"]) for one in document["due"])
    note = f"{document['totals']['rows']} results of {document['totals']['problems']} problems, in all time and all projects."
    if table.bad:
        note += f" {len(table.bad)} lines of the ledger cannot be read; `tacitd learner check` lists them."
    parts = (
        ReportSeries(
            "Problems by month", tuple((one["month"], float(one["rows"])) for one in months), form="bars"
        ),
        ReportSeries(
            "Solved without help, per cent",
            tuple((one["month"], round(100.0 * one["without_help"] / one["rows"])) for one in months),
            form="points",
        ),
        ReportTable("Weaknesses", columns, weaknesses, "no weakness is known"),
        ReportTable("Due for review", ("problem", "since", "why"), due, "nothing is due"),
    )
    yield ReportSection("What you practised", parts, note)
