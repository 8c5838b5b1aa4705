"""What is recorded: the ledger's row of a reported problem, and the session that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacitd.clock import local_minutes
from tacitd.errors import TacitdError
from tacitd_handlers.learner.learner_state import ReportRecord
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.review_dates import ReviewPlan, describe_trajectory, find_review
from tacitd_handlers.learner.session_stamps import SessionStamp, read_session_state, resolve_session
from tacitd_handlers.learner.vocabulary import RECALL, gaps_text

if TYPE_CHECKING:
    from pathlib import Path

    from tacitd.contract import Rows
    from tacitd_handlers.learner.practice_report import PracticeReport


def plan_report(
    report: PracticeReport, at: SessionStamp, rows: Sequence[LedgerRow], plan: ReviewPlan
) -> ReportRecord | LedgerRow:
    """Given the ledger's rows, return what to record; the row that is there already if the problem is (SPEC L-23).

    Raises TacitdError if the ledger has the same key with another verdict or other gaps, because it is never edited.
    """
    gaps = gaps_text(report.gaps)
    row = LedgerRow(
        at.stamp, at.session, report.problem, report.pattern, report.mode, report.verdict, gaps, ""
    )
    same = next((one for one in rows if one.key == row.key), None)
    if same is not None:
        if (same.verdict, same.tags) != (row.verdict, row.tags):
            raise TacitdError(
                f"the ledger has {row.problem} on {row.stamp} with {same.verdict} and gaps {same.gaps}",
                "the ledger is never edited; record another session, or correct the line by hand",
            )
        return same
    past = [one for one in rows if one.problem == row.problem and one.stamp <= row.stamp]
    row = row._replace(review=find_review(row, past, plan))
    trend = describe_trajectory(past) if report.mode == RECALL else ""
    observed = "\n".join(part for part in (report.observations, trend) if part)
    return ReportRecord(row, report.tested, observed, dict(report.descriptions))


def find_stamp(rows: Rows, session: str, stamp: str, session_state: Path, now: float) -> SessionStamp:
    """The session's one stamp (SPEC L-48). `session` and `stamp`: as given, "" for unknown ones; `now`: seconds since 1970."""
    known: dict[str, str] = dict(
        rows("SELECT session, stamp FROM learner_session WHERE stamp <> '' ORDER BY rowid")
    )
    began = rows("SELECT began FROM learner_session WHERE session = ? AND began <> ''", session)
    left = read_session_state(session_state)
    return resolve_session(session, stamp, known, left, began[0][0] if began else local_minutes(now))
