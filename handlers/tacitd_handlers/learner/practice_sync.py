"""The two files compared: a profile's leaves, the ledger's rows and the state in, the changes of the profile out.

Pure. The ledger decides verdicts, gaps, review dates, stamps and counts; a person decides everything else. What is in
the profile is the input of the next session (SPEC L-31).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tacitd.handler import Notice
from tacitd_handlers.learner.history_text import (
    RECOVERED,
    HistoryKey,
    correct_entry,
    format_session,
    matches_row,
)
from tacitd_handlers.learner.learner_paths import PROFILE
from tacitd_handlers.learner.learner_state import Dates, LearnerState, ReportRecord
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.ledger_replay import Replay, arrive, in_order, replay
from tacitd_handlers.learner.profile_text import (
    HISTORY,
    RESOLVED,
    SECTIONS,
    WEAKNESSES,
    PlacedEntry,
    PlacedSession,
    list_entries,
    list_sessions,
    name_session,
)
from tacitd_handlers.learner.vocabulary import HEALED, NO_DATE, NO_GAPS, UNKNOWN, VERDICTS, name_of
from tacitd_handlers.learner.weakness_entries import EntryBook, match_entries
from tacitd_handlers.learner.weakness_text import describe_gap

if TYPE_CHECKING:
    from tacitd.contract import Leaf

MAX_SESSIONS = 20
"""The cap of Session History (SPEC L-32)."""
Act = Callable[[EntryBook, Replay], Sequence[str]]
"""What a person decides about the entries, after the sessions are applied. It returns the names of what was changed."""


class SyncResult(Struct):
    """What changes in the profile, and the state after it is written."""

    state: LearnerState
    changes: dict[Leaf, str | None] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    """Headings that were missing."""
    notices: list[Notice] = field(default_factory=list)
    """For the output of `record`: the gaps that changed their list, and `vague` ones, whose description got a stamp (SPEC L-10)."""
    named: list[str] = field(default_factory=list)
    """What `act` returned."""


def sync_profile(
    leaves: Mapping[Leaf, str] | None,
    state: LearnerState,
    rows: Sequence[LedgerRow],
    kept: Collection[Leaf],
    is_settled: bool,
    makes: bool,
    act: Act | None,
) -> SyncResult:
    """Apply the rows that the profile does not have yet, then `act`. Modifies `state`. Raises what `act` raises.

    `leaves` is None if there is no profile; `makes`: it is made also without rows. `kept`: leaves that are gone, and that no person
    removed. `rows` are in the order of the file. If not `is_settled`, others may still be writing: only rows of reports are taken.
    Entries of rows that were not reported are marked as recovered from the ledger.
    """
    result = SyncResult(state)
    if leaves is None and not rows and not makes:
        return result
    result.repaired = _find_missing_headings(leaves, state)
    lost = {*result.repaired, *(SECTIONS if leaves is None else ())}
    has_profile, leaves = leaves is not None, leaves or {}
    entries, sessions = list_entries(leaves), list_sessions(leaves)
    tags = dict.fromkeys([*(tag for row in rows for tag in row.tags), *state.tags])
    again = _notice_edits(entries, kept, state, tags, is_lost=WEAKNESSES in lost)
    new, later = _find_new(entries, sessions, state, rows, is_settled=is_settled)
    written = state.written or {}
    theirs = {one.entry.label for one in entries if one.entry.dates != written.get(one.entry.label)}
    # The stamps that somebody else wrote into an entry: the skill judged these sessions itself (SPEC L-21).
    judged = {
        stamp
        for one in entries
        if one.entry.label in theirs
        for stamp in (*one.entry.dates, one.entry.streak)
    }
    book = EntryBook(entries, state, tags)
    made = _apply_rows(book, state, rows, new, judged, again)
    if act is not None:
        result.named = list(act(book, made))
        book.put({}, made)
    book.finish()
    wanted = in_order(rows)[-MAX_SESSIONS:] if HISTORY in lost or state.written is None else new
    ours = {report.row.key for report in state.reports}
    texts = {report.row.key: report.observations for report in state.reports if not report.is_done}
    added = [(row, texts.get(row.key, RECOVERED)) for row in wanted if row.key not in later]
    headings: dict[Leaf, str | None] = {name: name for name in result.repaired}
    if not has_profile:
        headings = {name: name for name in (*SECTIONS, RESOLVED)}
    result.changes = headings | book.list_changes()
    result.changes |= change_sessions(sessions, rows, added, None if is_settled else ours)
    result.notices = book.notices
    _note_written(leaves, result.changes, state, tags, theirs if later else set())
    while state.rows < len(rows) and rows[state.rows].key not in later:
        state.rows += 1
    state.last_row = rows[state.rows - 1] if state.rows else None
    state.finish_reports({row.key for row in new}, {row.key for row in rows[state.rows :]})
    return result


def _find_missing_headings(leaves: Mapping[Leaf, str] | None, state: LearnerState) -> list[str]:
    """The headings that were lost (SPEC L-02). A Resolved that is lost with its section is not named."""
    if leaves is None:
        return list(SECTIONS) if state.written is not None else []
    missing = [name for name in SECTIONS if name not in leaves]
    if RESOLVED not in leaves and WEAKNESSES not in missing:
        missing.append(RESOLVED)
    return missing


def _notice_edits(
    entries: Sequence[PlacedEntry],
    kept: Collection[Leaf],
    state: LearnerState,
    tags: Iterable[str],
    *,
    is_lost: bool,
) -> list[str]:
    """Note the entries that a person renamed, removed or wrote again. Returns the tags whose entries were lost by damage."""
    matched = match_entries(entries, tags, state.aliases)
    for tag in matched:
        record = state.find_tag(tag)
        record.removed, record.waits = False, False
    tag_of_label = {record.label or tag: tag for tag, record in state.tags.items()}
    there = {placed.entry.label for placed in entries}
    gone = {
        tag_of_label[label]: dates
        for label, dates in (state.written or {}).items()
        if label not in there and label in tag_of_label and tag_of_label[label] not in matched
    }
    if is_lost:
        return [*gone]
    ours = {placed.leaf for placed in matched.values()}
    added = [
        placed
        for placed in entries
        if placed.leaf not in ours and placed.entry.label not in (state.written or {})
    ]
    renamed = _find_renamed(gone, added, {tag: state.find_tag(tag).description for tag in gone})
    labels_kept = {leaf.split("\n")[1] for leaf in kept if "\n" in leaf}
    for tag in gone:
        record = state.find_tag(tag)
        if tag in renamed:
            record.label = renamed[tag].entry.label
        elif (record.label or tag) not in labels_kept:
            record.removed = not record.waits
    return []


def _find_renamed(
    gone: Mapping[str, Dates], added: Sequence[PlacedEntry], descriptions: Mapping[str, str]
) -> dict[str, PlacedEntry]:
    """By tag, the new entry that has the three dates of the one that is gone: it was renamed (SPEC L-11).

    Where several have these dates, an equal description decides.
    """
    found: dict[str, PlacedEntry] = {}
    for tag, dates in gone.items():
        same = [placed for placed in added if placed.entry.dates == dates and placed not in found.values()]
        if len(same) > 1 or [*gone.values()].count(dates) > 1:
            same = [placed for placed in same if placed.entry.description == descriptions[tag]]
        if len(same) == 1:
            found[tag] = same[0]
    return found


def _find_new(
    entries: Sequence[PlacedEntry],
    sessions: Sequence[PlacedSession],
    state: LearnerState,
    rows: Sequence[LedgerRow],
    *,
    is_settled: bool,
) -> tuple[list[LedgerRow], set[RowKey]]:
    """The rows to apply now, by stamp, and the keys of those to apply later.

    Corrects the number of known rows if the ledger was changed by hand. Without a memory of the profile, rows up to its
    newest stamp count as known: what is in the profile is the input.
    """
    planned = {report.row.key for report in state.reports if not report.is_done}
    done = {report.row.key for report in state.reports if report.is_done}
    known_to = ""
    if state.written is None:
        stamps = [placed.session.stamp for placed in sessions]
        known_to = max([*stamps, *(max(placed.entry.dates) for placed in entries)], default="")
    elif state.rows and (state.rows > len(rows) or rows[state.rows - 1] != state.last_row):
        there = [at for at, row in enumerate(rows, start=1) if row == state.last_row]
        state.rows = there[-1] if there else min(state.rows, len(rows))
    others = [
        row
        for row in rows[state.rows :]
        if row.key not in planned and row.key not in done and row.stamp > known_to
    ]
    ours = [row for row in rows if row.key in planned]
    return in_order([*ours, *(others if is_settled else ())]), {
        row.key for row in (() if is_settled else others)
    }


def _apply_rows(
    book: EntryBook,
    state: LearnerState,
    rows: Sequence[LedgerRow],
    new: Sequence[LedgerRow],
    judged: Collection[str | None],
    again: Sequence[str],
) -> Replay:
    """Apply the new rows one by one, each with the caps of its time, after what was lost by damage."""
    reports = {report.row.key: report for report in state.reports}
    keys = {row.key for row in new}
    known = [row for row in rows if row.key not in keys]
    made = replay(known, state.tested)
    book.correct(made)
    for tag in again:
        if tag in made.tags and tag not in book.entries:
            book.restore(made.tags[tag])
    for row in new:
        before = dict(made.tags)
        if row.stamp < made.last:
            made = replay([*known, row], state.tested)
        else:
            made.add_row(row)
        known.append(row)
        _describe(book, row, reports.get(row.key), state)
        is_judged = row.key not in reports and row.stamp in judged
        changes = {} if is_judged else arrive(book.entries, row, before, made)
        book.put(changes, made)
    book.put({}, made)
    return made


def _describe(book: EntryBook, row: LedgerRow, report: ReportRecord | None, state: LearnerState) -> None:
    """Set the description of new gaps: as given, otherwise where the gap was observed (SPEC L-10)."""
    for tag in row.tags:
        record = state.find_tag(tag)
        if not record.description:
            given = report.texts.get(tag, "") if report is not None else ""
            record.description, is_specific = describe_gap(tag, given, row.problem, row.pattern, row.stamp)
            book.notices += [] if is_specific else [Notice("vague", tag, PROFILE)]


def _note_written(
    leaves: Mapping[Leaf, str],
    changes: Mapping[Leaf, str | None],
    state: LearnerState,
    tags: Mapping[str, None],
    pending: Collection[str],
) -> None:
    """Remember the entries as they are after the changes, so that a later change is recognised.

    `pending`: labels of entries that others wrote, maybe for a session that is not compared yet: they stay unknown until then.
    """
    after = {leaf: text for leaf, text in {**leaves, **changes}.items() if text is not None}
    entries = list_entries(after)
    matched = match_entries(entries, tags, state.aliases)
    for tag, placed in matched.items():
        record = state.find_tag(tag)
        record.label = placed.entry.label if placed.entry.label != tag else ""
        record.description = placed.entry.description or record.description
    before = state.written or {}
    state.written = {
        entry.label: before[entry.label] if entry.label in pending else entry.dates
        for entry in (placed.entry for placed in entries)
        if entry.label not in pending or entry.label in before
    }


# --- Session History. An entry's header has a stamp, a problem and a mode, but no session id. Two sessions can share all three, in
# the hour that is repeated when summer time ends and where two run side by side: then each row has an entry (SPEC L-32, L-47).


def change_sessions(
    sessions: Sequence[PlacedSession],
    rows: Sequence[LedgerRow],
    wanted: Sequence[tuple[LedgerRow, str]],
    ours: Collection[RowKey] | None,
) -> dict[Leaf, str | None]:
    """Add the `wanted` rows that have no entry, with their observations, and correct entries that disagree with their rows.

    `wanted` is ordered by stamp. `ours`: the rows whose entries may be corrected now; None: all. An entry that was
    recovered from the ledger leaves when its session got another one.
    """
    paired, doubles = _pair_sessions(sessions, rows)
    kept = [placed for placed in sessions if placed not in doubles]
    there = {row.key for _, row in paired}
    added = [(row, text) for row, text in wanted if row.key not in there]
    # The oldest by stamp leave, whatever their order in the file; of equal stamps the lower entry.
    ages: list[tuple[str, int, PlacedSession | LedgerRow]]
    ages = [(placed.session.stamp, -at, placed) for at, placed in enumerate(sessions) if placed in kept]
    ages += [(row.stamp, number, row) for number, (row, _) in enumerate(added, start=1)]
    leaving = [one for *_, one in sorted(ages, key=lambda age: age[:2])[: max(0, len(ages) - MAX_SESSIONS)]]
    changes: dict[Leaf, str | None] = {
        one.leaf: None for one in (*doubles, *leaving) if isinstance(one, PlacedSession)
    }
    for placed, row in paired:
        may_correct = placed not in leaving and (ours is None or row.key in ours)
        if may_correct and not matches_row(placed.session, row):
            changes[placed.leaf] = "\n".join(correct_entry(placed.lines, row))
    taken = {placed.leaf for placed in sessions}
    for row, text in added:
        if row not in leaving:
            lines = format_session(row, text)
            leaf = _name_new(row, taken)
            taken.add(leaf)
            changes[leaf] = "\n".join(lines)
    return changes


def _name_new(row: LedgerRow, taken: Collection[Leaf]) -> Leaf:
    names = (name_session((row.stamp, row.problem, row.mode), number) for number in range(1, 1000))
    return next(leaf for leaf in names if leaf not in taken)


def _pair_sessions(
    sessions: Sequence[PlacedSession], rows: Sequence[LedgerRow]
) -> tuple[list[tuple[PlacedSession, LedgerRow]], list[PlacedSession]]:
    """The entries with their rows, and recovered entries too many.

    Of several entries of one header, those that equal a row get it. The others get theirs in order: the lowest entry is
    the oldest.
    """
    by_header: dict[HistoryKey, list[PlacedSession]] = {}
    for placed in reversed(sessions):
        by_header.setdefault(placed.session.key, []).append(placed)
    rows_of: dict[HistoryKey, dict[RowKey, LedgerRow]] = {key: {} for key in by_header}
    for row in rows:
        key = row.stamp, row.problem, row.mode
        if key in by_header:
            rows_of[key].setdefault(row.key, row)
    paired: list[tuple[PlacedSession, LedgerRow]] = []
    doubles: list[PlacedSession] = []
    for key, free in by_header.items():
        left = [*rows_of[key].values()]
        recovered = [one for one in reversed(free) if one.session.observations == RECOVERED]
        for one in recovered[: max(0, len(free) - max(1, len(left)))]:
            doubles.append(one)
            free.remove(one)
        for row in [*left]:
            same = next((one for one in free if matches_row(one.session, row)), None)
            if same is not None:
                paired.append((same, row))
                free.remove(same)
                left.remove(row)
        paired += zip(free, left, strict=False)
    return paired, doubles


def find_missing_rows(sessions: Sequence[PlacedSession], rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """The rows that the ledger lacks of sessions in the profile, oldest first (SPEC L-38).

    An entry whose mode or verdict is invalid gets none: nothing is invented (SPEC L-35, L-39).
    """
    known: set[HistoryKey] = {(row.stamp, row.problem, row.mode) for row in rows}
    found = []
    for placed in sessions:
        one = placed.session
        if one.key not in known and one.verdict in VERDICTS.get(one.mode, ()):
            gaps, review = name_of(one.gaps or "") or NO_GAPS, name_of(one.review or "") or NO_DATE
            row = LedgerRow(one.stamp, HEALED, one.problem, UNKNOWN, one.mode, one.verdict, gaps, review)
            found.append(row)
            known.add(one.key)
    return sorted(found, key=lambda row: row.stamp)
