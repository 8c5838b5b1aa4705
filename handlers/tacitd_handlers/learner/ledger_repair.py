"""Rows that the ledger lacks: of sessions only in the profile (SPEC L-38), and of cut-off records (SPEC L-37).

Pure. The opposite direction, entries for rows that are only in the ledger, is in `render.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacitd_handlers.learner.formats.history_md import HistoryEntry
from tacitd_handlers.learner.formats.ledger_md import LedgerRow, RowKey
from tacitd_handlers.learner.formats.profile_md import parse_profile
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.rules.vocabulary import HEALED, NO_DATE, NO_GAPS, UNKNOWN, VERDICTS, name_of
from tacitd_handlers.learner.session_details import Intent
from tacitd_handlers.learner.state import SessionKey


def build_row(session: HistoryEntry) -> LedgerRow | None:
    """The row for a profile entry. None if its mode or verdict is invalid: nothing is invented (SPEC L-35, L-39)."""
    if session.verdict not in VERDICTS.get(session.mode, ()):
        return None
    gaps, review = name_of(session.gaps or ""), name_of(session.review or "")
    return LedgerRow(
        session.stamp,
        HEALED,
        session.problem,
        UNKNOWN,
        session.mode,
        session.verdict,
        gaps or NO_GAPS,
        review or NO_DATE,
    )


def find_missing_rows(
    data: bytes | None, ledger: Ledger, newest: Iterable[LedgerRow] = ()
) -> list[LedgerRow]:
    """The rows that the ledger lacks, oldest first.

    `data` is the profile, `newest` are rows known to be in the ledger.
    """
    if data is None:
        return []
    known: set[SessionKey] = {(row.stamp, row.problem, row.mode) for row in newest}
    found: dict[SessionKey, LedgerRow] = {}
    for held in parse_profile(data).sessions:
        key = held.session.key
        if key in known or any((row.problem, row.mode) == key[1:] for row in ledger.find_rows(key[0])):
            continue
        row = build_row(held.session)
        if row is not None:
            found.setdefault(key, row)
    return sorted(found.values(), key=lambda row: row.stamp)


def find_unwritten_rows(intents: Mapping[RowKey, Intent], ledger: Ledger) -> list[LedgerRow]:
    """The rows of intents that are not in the ledger, in the order in which they were recorded."""
    return [intent.row for key, intent in intents.items() if ledger.find_row(key) is None]
