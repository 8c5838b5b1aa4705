"""The splices that bring Session History in line with the ledger: new sessions, corrections and the cap. Pure.

An entry's header has a stamp, a problem and a mode, but no session id. Two sessions can share all three, in the hour that
is repeated when summer time ends and where two run side by side: then each row has an entry of its own (SPEC L-32, L-47).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tacitd_handlers.learner.history_text import (
    RECOVERED,
    HistoryKey,
    correct_entry,
    format_session,
    matches_row,
)
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.profile_text import LearnerProfile, PlacedSession, Splice, insert_session
from tacitd_handlers.learner.vocabulary import HEALED, NO_DATE, NO_GAPS, UNKNOWN, VERDICTS, name_of

MAX_SESSIONS = 20
"""The cap of Session History (SPEC L-32)."""


def splice_sessions(
    profile: LearnerProfile,
    rows: Sequence[LedgerRow],
    wanted: Sequence[tuple[LedgerRow, str]],
    ours: Collection[RowKey] | None,
) -> list[Splice]:
    """Add the `wanted` rows that have no entry, with their observations, and correct entries that disagree with their rows.

    `wanted` is ordered by stamp. `ours`: the rows whose entries may be corrected now; None: all. An entry that was
    recovered from the ledger leaves when its session got another one.
    """
    paired, doubles = _pair_sessions(profile.sessions, rows)
    kept = [held for held in profile.sessions if held not in doubles]
    there = {row.key for _, row in paired}
    added = [(row, text) for row, text in wanted if row.key not in there]
    # The oldest by stamp leave, whatever their order in the file; of equal stamps the lower entry.
    ages: list[tuple[str, int, PlacedSession | LedgerRow]]
    ages = [(held.session.stamp, -held.span.start, held) for held in kept]
    ages += [(row.stamp, number, row) for number, (row, _) in enumerate(added, start=1)]
    leaving = [one for *_, one in sorted(ages, key=lambda age: age[:2])[: max(0, len(ages) - MAX_SESSIONS)]]
    splices = [Splice(held.own_span) for held in (*doubles, *leaving) if isinstance(held, PlacedSession)]
    for held, row in paired:
        may_correct = held not in leaving and (ours is None or row.key in ours)
        if may_correct and not matches_row(held.session, row):
            splices.append(Splice(held.span, tuple(correct_entry(profile.bare_lines(held.span), row))))
    for row, text in reversed(added):
        if row not in leaving:
            splices.append(insert_session(profile, row.stamp, format_session(row, text)))
    return splices


def _pair_sessions(
    sessions: Sequence[PlacedSession], rows: Sequence[LedgerRow]
) -> tuple[list[tuple[PlacedSession, LedgerRow]], list[PlacedSession]]:
    """The entries with their rows, and recovered entries too many.

    Of several entries of one header, those that equal a row get it. The others get theirs in order: the lowest entry is
    the oldest.
    """
    by_header: dict[HistoryKey, list[PlacedSession]] = {}
    for held in reversed(sessions):
        by_header.setdefault(held.session.key, []).append(held)
    rows_of: dict[HistoryKey, dict[RowKey, LedgerRow]] = {key: {} for key in by_header}
    for row in rows:
        key = row.stamp, row.problem, row.mode
        if key in by_header:
            rows_of[key].setdefault(row.key, row)
    paired: list[tuple[PlacedSession, LedgerRow]] = []
    doubles: list[PlacedSession] = []
    for key, free in by_header.items():
        left = [*rows_of[key].values()]
        recovered = [held for held in reversed(free) if held.session.observations == RECOVERED]
        for held in recovered[: max(0, len(free) - max(1, len(left)))]:
            doubles.append(held)
            free.remove(held)
        for row in [*left]:
            same = next((held for held in free if matches_row(held.session, row)), None)
            if same is not None:
                paired.append((same, row))
                free.remove(same)
                left.remove(row)
        paired += zip(free, left, strict=False)
    return paired, doubles


def find_missing_rows(profile: LearnerProfile, rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """The rows that the ledger lacks of sessions in the profile, oldest first (SPEC L-38).

    An entry whose mode or verdict is invalid gets none: nothing is invented (SPEC L-35, L-39).
    """
    known: set[HistoryKey] = {(row.stamp, row.problem, row.mode) for row in rows}
    found = []
    for held in profile.sessions:
        one = held.session
        if one.key not in known and one.verdict in VERDICTS.get(one.mode, ()):
            gaps, review = name_of(one.gaps or "") or NO_GAPS, name_of(one.review or "") or NO_DATE
            row = LedgerRow(one.stamp, HEALED, one.problem, UNKNOWN, one.mode, one.verdict, gaps, review)
            found.append(row)
            known.add(one.key)
    return sorted(found, key=lambda row: row.stamp)
