"""Recording one problem of a session: its review date, its row, and the order of the writes (SPEC L-37, L-41).

This module combines the rules with the store. Recording the same twice has one effect (SPEC L-23). The same key with
another verdict or other gaps is refused, because the ledger is never edited.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from tacitd.errors import FileRefusedError, TacitdError
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.reconcile_types import ReconcileResult
from tacitd_handlers.learner.report_input import PracticeReport
from tacitd_handlers.learner.rules.intervals import date_of, days_until, review_date
from tacitd_handlers.learner.rules.ledger_fold import (
    FoldedLedger,
    ProblemHistory,
    describe_trajectory,
    in_order,
    remember_row,
)
from tacitd_handlers.learner.rules.session_stamps import SessionStamp
from tacitd_handlers.learner.rules.vocabulary import RECALL, gaps_text, time_of
from tacitd_handlers.learner.session_details import Intent
from tacitd_handlers.learner.state import LearnerState
from tacitd_handlers.learner.store import LearnerStore


class ReviewPlan(Struct, frozen=True):
    """How intervals grow (the settings `learner.grow_only_when_due` and `learner.longest_interval`)."""

    grow_only_when_due: bool = False
    longest_interval: int | None = None


class RecordedProblem(Struct, frozen=True):
    """The result of `record`."""

    row: LedgerRow
    again: bool
    """The row was in the ledger already; nothing was added."""
    result: ReconcileResult | None
    """None: the row is in the ledger, but the profile could not be written."""
    trouble: str = ""
    """Why the profile could not be written."""
    hint: str = ""


def record_problem(
    store: LearnerStore, report: PracticeReport, at: SessionStamp, plan: ReviewPlan
) -> RecordedProblem:
    """Write one problem to the ledger, then to the profile. Call with the lock held.

    Raises TacitdError if the ledger has the same key with another verdict or other gaps. Raises OSError or
    FileRefusedError if the ledger cannot be written; then nothing was recorded.
    """
    ledger, state = _known(store)
    whole = ledger.has_prefix(state.size, state.crc) and state.size == len(ledger)
    row = LedgerRow(
        at.stamp,
        at.session,
        report.problem,
        report.pattern,
        report.mode,
        report.verdict,
        gaps_text(report.gaps),
        "",
    )
    last = whole and at.stamp > state.folded.last
    # A stamp newer than every folded row has no row yet, so the ledger need not be searched.
    before = None if last else ledger.find_row(row.key)
    if before is not None:
        if (before.verdict, before.tags) != (row.verdict, row.tags):
            raise TacitdError(
                f"the ledger has {row.problem} on {row.stamp} with {before.verdict} and gaps {before.gaps}",
                "the ledger is never edited; record another session, or correct the line by hand",
            )
        return _again(store, before)
    newest = whole and at.stamp >= state.folded.last
    past = state.folded.problems.get(row.problem) if newest else _past(ledger, row)
    row = row._replace(review=_review(row, past, plan))
    trend = describe_trajectory(past) if report.mode == RECALL else ""
    intent = Intent(row, report.tested, report.observations, trend, report.descriptions, fresh=True)
    return _add(store, intent, ledger, whole=whole)


def _known(store: LearnerStore) -> tuple[Ledger, LearnerState]:
    """The ledger and the state that belongs to it. New rows are folded first, so that the ledger is read only once."""
    store.write_unfinished()
    ledger, state = store.read_ledger(), store.load_state()
    if not len(ledger) or (state.size == len(ledger) and ledger.has_prefix(state.size, state.crc)):
        return ledger, state
    with suppress(OSError, FileRefusedError):  # the ledger is written even if the profile cannot be
        store.update_profile(ledger)
    return ledger, store.load_state()


def _add(store: LearnerStore, intent: Intent, ledger: Ledger, *, whole: bool) -> RecordedProblem:
    try:
        result = store.add_intent(intent, ledger, whole=whole)
    except (OSError, FileRefusedError) as error:
        if store.read_ledger().find_row(intent.row.key) is None:
            raise
        return _in_ledger_only(intent.row, False, error)
    return RecordedProblem(intent.row, False, result)


def _again(store: LearnerStore, row: LedgerRow) -> RecordedProblem:
    try:
        return RecordedProblem(row, True, store.update_profile())
    except (OSError, FileRefusedError) as error:
        return _in_ledger_only(row, True, error)


def _in_ledger_only(row: LedgerRow, again: bool, error: OSError | FileRefusedError) -> RecordedProblem:
    if isinstance(error, FileRefusedError):
        return RecordedProblem(row, again, None, error.what, error.hint)
    return RecordedProblem(row, again, None, f"{error.filename or 'the profile'}: {error.strerror}")


def _past(ledger: Ledger, row: LedgerRow) -> ProblemHistory | None:
    """The problem's earlier sessions, from the whole ledger, up to this row's stamp (SPEC L-43)."""
    found = FoldedLedger()
    for each in in_order(ledger.parse_rows().rows):
        if each.problem == row.problem and each.stamp <= row.stamp:
            remember_row(found, each)
    return found.problems.get(row.problem)


def _review(row: LedgerRow, past: ProblemHistory | None, plan: ReviewPlan) -> str:
    due, today = date_of(past.review) if past is not None else None, time_of(row.stamp)
    early = plan.grow_only_when_due and due is not None and today is not None and today.date() < due
    previous = past.interval if past is not None else None
    days = days_until(row.verdict, previous, early=early, longest=plan.longest_interval)
    return review_date(row.stamp, days)
