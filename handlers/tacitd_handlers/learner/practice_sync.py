"""The two files compared: a profile's leaves, the ledger's rows and the state in, the changes of the profile out.

Pure. The ledger decides verdicts, gaps, review dates, stamps and counts; a person decides everything else. What is in
the profile is the input of the next session (SPEC L-31).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tacitd_handlers.learner.entry_texts import (
    RECOVERED,
    RESOLVED,
    HistoryEntry,
    HistoryKey,
    WeaknessEntry,
    correct_entry,
    describe_gap,
    format_session,
    matches_row,
)
from tacitd_handlers.learner.learner_state import LearnerState
from tacitd_handlers.learner.ledger_file import (
    HEALED,
    NO_DATE,
    NO_GAPS,
    UNKNOWN,
    VERDICTS,
    LedgerRow,
    RowKey,
    name_of,
)
from tacitd_handlers.learner.profile_text import (
    HISTORY,
    SECTIONS,
    WEAKNESSES,
    list_entries,
    list_sessions,
    name_session,
)
from tacitd_handlers.learner.weakness_entries import EntryBook, match_entries
from tacitd_handlers.learner.weakness_rules import Replay, arrive, in_order, replay

if TYPE_CHECKING:
    from tacitd.contract import Leaf

MAX_SESSIONS = 20
"""The cap of Session History (SPEC L-32)."""
Act = Callable[[EntryBook], Sequence[str]]
"""What a person decides about the entries, after the sessions are applied. It returns the names of what was changed."""


class SyncResult(Struct):
    state: LearnerState
    changes: dict[Leaf, str | None] = field(default_factory=dict)
    """An entry that somebody else wrote is among them as it is, so that its removal is recognised later."""
    repaired: list[str] = field(default_factory=list)
    """Headings that were missing."""
    named: list[str] = field(default_factory=list)
    """What `act` returned."""


def sync_profile(
    leaves: Mapping[Leaf, str] | None,
    base: Mapping[Leaf, str],
    removed: Collection[Leaf],
    state: LearnerState,
    rows: Sequence[LedgerRow],
    *,
    is_settled: bool,
    makes: bool,
    act: Act | None,
) -> SyncResult:
    """Apply the rows that the profile does not have yet, then `act`. Modifies `state`. Raises what `act` raises.

    `leaves` is None if there is no profile; `makes`: it is made also without rows. `base`: the entries as of the last comparison,
    empty if nothing is known. `removed`: those of it that a person removed. `rows` are in the order of the file. If not
    `is_settled`, others may still be writing: only rows of reports are taken. Entries of rows that were not reported are marked as
    recovered from the ledger. A list of weaknesses that was lost is made again from the ledger, and so is a history.
    """
    result = SyncResult(state)
    if leaves is None and not rows and not makes:
        return result
    lost = [name for name in (*SECTIONS, RESOLVED) if name not in (leaves or ())]
    if leaves is not None or base:
        result.repaired = [name for name in lost if name != RESOLVED or WEAKNESSES not in lost]
    leaves = leaves or {}
    entries, sessions, known = list_entries(leaves), list_sessions(leaves), list_entries(base)
    tags = dict.fromkeys([*(tag for row in rows for tag in row.tags), *state.tags])
    if WEAKNESSES not in lost:
        _notice_edits(entries, known, removed, state, tags)
    # Without a memory of the profile, rows up to its newest stamp count as known: what is in the profile is the input.
    newest = max([one.stamp for one in sessions] + [max(one.dates) for one in entries], default="")
    known_to = "" if base else newest
    ours = {key: one.observations for key, one in state.reports.items() if not one.is_done}
    others = [row for row in rows if row.key not in state.reports and row.stamp > known_to]
    if not is_settled:
        rows, others = [row for row in rows if row not in others], []
    new = in_order([row for row in rows if row.key in ours] + others)
    wanted = in_order(rows)[-MAX_SESSIONS:] if HISTORY in lost or not base else new
    if WEAKNESSES in lost and base:
        new = in_order(rows)
    dates = {one.label: one.dates for one in known}
    theirs = [one for one in entries if one.dates != dates.get(one.label)]
    # The stamps that somebody else wrote into an entry: the skill judged these sessions itself (SPEC L-21).
    judged = {stamp for one in theirs for stamp in (*one.dates, one.streak)}
    book = EntryBook(entries, state, tags)
    made = _apply_rows(book, state, rows, new, judged)
    if act is not None:
        result.named = list(act(book))
        book.put({}, made)
    added = [(row, ours.get(row.key, RECOVERED)) for row in wanted]
    result.changes = {name: name for name in lost}
    result.changes |= book.list_changes() | change_sessions(
        sessions, rows, added, None if is_settled else ours
    )
    after = {leaf: text for leaf, text in {**leaves, **result.changes}.items() if text is not None}
    for tag, entry in match_entries(list_entries(after), tags, state.aliases).items():
        record = state.find_tag(tag)
        record.label = entry.label if entry.label != tag else ""
        record.description = entry.description or record.description
    for one in entries:
        # What others wrote may belong to a session that is compared later: it stays theirs until then.
        if one.leaf in after and base.get(one.leaf) != one.text and (is_settled or one not in theirs):
            result.changes.setdefault(one.leaf, one.text)
    for row in rows:
        state.finish_row(row)
    return result


def _notice_edits(
    entries: Sequence[WeaknessEntry],
    known: Sequence[WeaknessEntry],
    removed: Collection[Leaf],
    state: LearnerState,
    tags: Iterable[str],
) -> None:
    """Note the entries that a person renamed, removed or wrote again.

    An entry that is gone and a new one with the same three dates are one that was renamed (SPEC L-11). Where several have these
    dates, an equal description decides.
    """
    matched = match_entries(entries, tags, state.aliases)
    for tag in matched:
        record = state.find_tag(tag)
        record.removed, record.waits = False, False
    by_label = {record.label or tag: tag for tag, record in state.tags.items() if tag not in matched}
    there, before = {one.label for one in entries}, {one.label for one in known}
    gone = {by_label[one.label]: one for one in known if one.label in by_label and one.label not in there}
    added = [one for one in entries if one not in matched.values() and one.label not in before]
    for tag, old in gone.items():
        record = state.find_tag(tag)
        same = [one for one in added if one.dates == old.dates]
        if len(same) > 1 or sum(one.dates == old.dates for one in gone.values()) > 1:
            same = [one for one in same if one.description == record.description]
        if len(same) == 1 and not record.removed:
            record.label = same[0].label
            added.remove(same[0])
        elif old.leaf in removed:
            record.removed = not record.waits


def _apply_rows(
    book: EntryBook,
    state: LearnerState,
    rows: Sequence[LedgerRow],
    new: Sequence[LedgerRow],
    judged: Collection[str | None],
) -> Replay:
    keys = {row.key for row in new}
    known = [row for row in rows if row.key not in keys]
    made = replay(known, state.tested)
    book.correct(made)
    for row in new:
        before, report = dict(made.tags), state.reports.get(row.key)
        known.append(row)
        if row.stamp < made.last:
            made = replay(known, state.tested)
        else:
            made.add_row(row)
        for tag in row.tags:
            record = state.find_tag(tag)
            if not record.description:
                given = report.texts.get(tag, "") if report is not None else ""
                record.description = describe_gap(tag, given, row)
        is_judged = report is None and row.stamp in judged
        book.put({} if is_judged else arrive(book.entries, row, before, made), made)
    book.put({}, made)
    return made


# --- Session History. An entry's header has a stamp, a problem and a mode, but no session id. Two sessions can share all three, in
# the hour that is repeated when summer time ends and where two run side by side: then each row has an entry (SPEC L-32, L-47).


def change_sessions(
    sessions: Sequence[HistoryEntry],
    rows: Sequence[LedgerRow],
    wanted: Sequence[tuple[LedgerRow, str]],
    ours: Collection[RowKey] | None,
) -> dict[Leaf, str | None]:
    """Add the `wanted` rows that have no entry, with their observations, and correct entries that disagree with their rows.

    `wanted` is ordered by stamp. `ours`: the rows whose entries may be corrected now; None: all.
    """
    same: dict[HistoryKey, list[LedgerRow]] = {}
    by_leaf: dict[Leaf, LedgerRow] = {}
    for row in in_order(rows):
        same.setdefault(_header_of(row), []).append(row)
        by_leaf[name_session(_header_of(row), len(same[_header_of(row)]))] = row
    names = {row.key: leaf for leaf, row in by_leaf.items()}
    there = {one.leaf for one in sessions}
    added = {names[row.key]: text for row, text in wanted if names[row.key] not in there}
    # The oldest by stamp leave, whatever their order in the file; of equal stamps the lower entry.
    ages = {one.leaf: one.stamp for one in reversed(sessions)} | {leaf: by_leaf[leaf].stamp for leaf in added}
    leaving = sorted(ages, key=ages.__getitem__)[: max(0, len(ages) - MAX_SESSIONS)]
    changes: dict[Leaf, str | None] = {leaf: None for leaf in leaving if leaf in there}
    for one in sessions:
        found = by_leaf.get(one.leaf)
        is_ours = found is not None and (ours is None or found.key in ours)
        if is_ours and one.leaf not in changes and not any(matches_row(one, row) for row in same[one.key]):
            changes[one.leaf] = correct_entry(one, by_leaf[one.leaf])
    return changes | {
        leaf: format_session(by_leaf[leaf], text) for leaf, text in added.items() if leaf not in leaving
    }


def _header_of(row: LedgerRow) -> HistoryKey:
    return row.stamp, row.problem, row.mode


def find_missing_rows(sessions: Sequence[HistoryEntry], rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """The rows that the ledger lacks of sessions in the profile, oldest first (SPEC L-38).

    An entry whose mode or verdict is invalid gets none: nothing is invented (SPEC L-35, L-39).
    """
    known = set(map(_header_of, rows))
    found: dict[HistoryKey, LedgerRow] = {}
    for one in sessions:
        if one.key not in known and one.verdict in VERDICTS.get(one.mode, ()):
            gaps, review = name_of(one.gaps or "") or NO_GAPS, name_of(one.review or "") or NO_DATE
            row = LedgerRow(one.stamp, HEALED, one.problem, UNKNOWN, one.mode, one.verdict, gaps, review)
            found.setdefault(one.key, row)
    return sorted(found.values(), key=lambda row: row.stamp)
