"""The splices that bring Session History in line with the ledger: new sessions, corrections and the cap. Pure.

An entry's header has a stamp, a problem and a mode, but no session id. Two sessions can share all three, in the hour that
is repeated when summer time ends and where two run side by side: then each row has an entry of its own (SPEC L-32, L-47).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tacitd_handlers.learner.history_text import (
    RECOVERED,
    HistoryKey,
    correct_entry,
    format_session,
    matches_row,
)
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.profile_text import (
    LearnerProfile,
    PlacedSession,
    Span,
    Splice,
    insert_session,
    remove_span,
)

MAX_SESSIONS = 20
"""The cap of Session History (SPEC L-32)."""


def splice_sessions(
    profile: LearnerProfile,
    rows: Sequence[LedgerRow],
    wanted: Sequence[tuple[LedgerRow, str]],
    ours: Collection[RowKey] | None,
) -> list[Splice]:
    """Add the `wanted` rows that have no entry, with their observations, and correct entries that disagree with their rows.

    `wanted` is ordered by stamp. `ours`: the rows whose entries may be corrected now; None: all.
    """
    kept, splices = _without_doubles(profile, rows)
    row_of = pair_sessions(kept, rows)
    for held in kept:
        row = row_of.get(held.span)
        if row is not None and (ours is None or row.key in ours) and not matches_row(held.session, row):
            splices.append(Splice(held.span, tuple(correct_entry(profile.bare_lines(held.span), row))))
    there = {row.key for row in row_of.values()}
    added = [(row, text) for row, text in wanted if row.key not in there]
    ages: list[tuple[str, int, PlacedSession | int]] = [
        (held.session.stamp, -held.span.start, held) for held in kept
    ]
    ages += [(row.stamp, at + 1, at) for at, (row, _) in enumerate(added)]
    over = max(0, len(ages) - MAX_SESSIONS)
    # The oldest by stamp leave, whatever their order in the file; of equal stamps the lower entry.
    leaving = [one for _, _, one in sorted(ages, key=lambda age: age[:2])[:over]]
    for one in leaving:
        if isinstance(one, PlacedSession):
            # A removed entry must not be corrected as well: the two splices would overlap.
            splices = [splice for splice in splices if splice.span != one.span]
            splices.append(remove_span(one.own_span))
    for at, (row, text) in reversed([*enumerate(added)]):
        if at not in leaving:
            splices.append(insert_session(profile, row.stamp, format_session(row, text)))
    return splices


def pair_sessions(sessions: Sequence[PlacedSession], rows: Sequence[LedgerRow]) -> dict[Span, LedgerRow]:
    """By span, the row of each entry that has one.

    Of several entries of one header, those that equal a row get it. The others get theirs in order: the lowest entry is
    the oldest.
    """
    by_key: dict[HistoryKey, dict[RowKey, LedgerRow]] = {}
    headers = {held.session.key for held in sessions}
    for row in rows:
        key = row.stamp, row.problem, row.mode
        if key in headers:
            by_key.setdefault(key, {}).setdefault(row.key, row)
    found: dict[Span, LedgerRow] = {}
    for key, same_key in by_key.items():
        left = [*same_key.values()]
        free = [held for held in reversed(sessions) if held.session.key == key]
        for row in [*left]:
            same = next((held for held in free if matches_row(held.session, row)), None)
            if same is not None:
                found[same.span] = row
                free.remove(same)
                left.remove(row)
        found |= {held.span: row for held, row in zip(free, left, strict=False)}
    return found


def find_unrecorded(profile: LearnerProfile, rows: Sequence[LedgerRow]) -> Iterator[PlacedSession]:
    """The entries that have no row (SPEC L-38)."""
    known = {(row.stamp, row.problem, row.mode) for row in rows}
    for held in profile.sessions:
        if held.session.key not in known:
            known.add(held.session.key)
            yield held


def _without_doubles(
    profile: LearnerProfile, rows: Sequence[LedgerRow]
) -> tuple[list[PlacedSession], list[Splice]]:
    """The entries without those recovered from the ledger whose session got another entry later, and their removals."""
    count: dict[HistoryKey, int] = {}
    for held in profile.sessions:
        count[held.session.key] = count.get(held.session.key, 0) + 1
    kept: list[PlacedSession] = []
    removed: list[Splice] = []
    for held in profile.sessions:
        key = held.session.key
        if count[key] > 1 and held.session.observations == RECOVERED:
            keys = {row.key for row in rows if (row.stamp, row.problem, row.mode) == key}
            if count[key] > max(1, len(keys)):
                count[key] -= 1
                removed.append(remove_span(held.own_span))
                continue
        kept.append(held)
    return kept, removed
