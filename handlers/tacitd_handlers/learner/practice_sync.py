"""The two files brought in step: a profile's bytes, the ledger's rows and the state in, the profile as it should be out.

Pure. The ledger decides verdicts, gaps, review dates, stamps and counts; a person decides everything else. What stands in
the profile is the input of the next session (SPEC L-31). Called again from the start if somebody saved in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field

from tacitd_handlers.learner.gap_descriptions import describe_gap
from tacitd_handlers.learner.history_splices import MAX_SESSIONS, splice_sessions
from tacitd_handlers.learner.history_text import RECOVERED
from tacitd_handlers.learner.learner_state import LearnerState, ReportRecord
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.ledger_replay import arrive, in_order, replay
from tacitd_handlers.learner.profile_text import (
    HISTORY,
    SECTIONS,
    TEMPLATE,
    WEAKNESSES,
    LearnerProfile,
    PlacedEntry,
    apply_splices,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.weakness_entries import EntryBook, Move, match_entries
from tacitd_handlers.learner.weakness_text import WeaknessEntry


class SyncResult(Struct):
    """The profile as it should be, and the state after it is written."""

    data: bytes | None
    """None: there is nothing to write."""
    state: LearnerState
    repaired: list[str] = field(default_factory=list)
    """Headings that were missing."""
    moves: list[Move] = field(default_factory=list)
    vague: list[str] = field(default_factory=list)
    """Tags whose description was completed with a stamp (SPEC L-10)."""


def sync_profile(
    data: bytes | None,
    state: LearnerState,
    rows: Sequence[LedgerRow],
    *,
    is_settled: bool = True,
    fresh: RowKey | None = None,
) -> SyncResult:
    """Apply the rows that the profile does not have yet. `data` is None if there is no profile. Modifies `state`.

    `rows` are in the order of the file. If not `is_settled`, others may still be writing: only rows of reports are taken.
    `fresh` is the row that is recorded just now; entries of other rows are marked as recovered. Raises FileRefusedError
    if the profile cannot be read as text.
    """
    result = SyncResult(None, state)
    if data is None and not rows:
        return result
    whole, result.repaired = restore_sections(TEMPLATE if data is None else data)
    if data is None and state.written is not None:
        result.repaired = list(SECTIONS)
    lost = {*result.repaired, *state.restored, *(SECTIONS if data is None else ())}
    profile = parse_profile(whole)
    tags = dict.fromkeys([*(tag for row in rows for tag in row.tags), *state.tags])
    again = _notice_edits(profile, state, tags, is_lost=WEAKNESSES in lost)
    new, later = _find_new(profile, state, rows, is_settled=is_settled)
    written = state.written or {}
    theirs = {
        placed.entry for placed in profile.weaknesses if placed.entry.dates != written.get(placed.entry.label)
    }
    # The stamps that somebody else wrote into an entry: the skill judged these sessions itself (SPEC L-21).
    judged = {stamp for entry in theirs for stamp in (*entry.dates, entry.streak or "")} - {""}
    book = _apply_rows(profile, state, rows, new, judged, again, result)
    wanted = in_order(rows)[-MAX_SESSIONS:] if HISTORY in lost or state.written is None else new
    ours = {report.row.key for report in state.reports}
    texts = {report.row.key: _format_observations(report, fresh) for report in state.reports}
    splices = splice_sessions(
        profile,
        rows,
        [(row, texts.get(row.key, RECOVERED)) for row in wanted if row.key not in later],
        None if is_settled else ours,
    )
    result.data = apply_splices(profile, [*book.make_splices(), *splices])
    result.moves = book.moves
    _note_written(parse_profile(result.data), state, tags, theirs if later else set())
    while state.rows < len(rows) and rows[state.rows].key not in later:
        state.rows += 1
    state.last_row = rows[state.rows - 1] if state.rows else None
    state.finish_reports({row.key for row in new}, {row.key for row in rows[state.rows :]})
    state.restored = []
    return result


def _notice_edits(
    profile: LearnerProfile, state: LearnerState, tags: Iterable[str], *, is_lost: bool
) -> list[str]:
    """Note the entries that a person renamed, removed or wrote again. Returns the tags whose entries were lost by damage."""
    matched = match_entries(profile, tags, state.aliases)
    for tag in matched:
        record = state.find_tag(tag)
        record.removed, record.waiting_since = False, ""
    tag_of_label = {record.label or tag: tag for tag, record in state.tags.items()}
    there = {placed.entry.label for placed in profile.weaknesses}
    gone = {
        tag_of_label[label]: dates
        for label, dates in (state.written or {}).items()
        if label not in there and label in tag_of_label and tag_of_label[label] not in matched
    }
    if is_lost:
        return [*gone]
    spans = {placed.span for placed in matched.values()}
    added = [
        placed
        for placed in profile.weaknesses
        if placed.span not in spans and placed.entry.label not in (state.written or {})
    ]
    renamed = _find_renamed(gone, added, {tag: state.find_tag(tag).description for tag in gone})
    for tag in gone:
        record = state.find_tag(tag)
        if tag in renamed:
            record.label = renamed[tag].entry.label
        else:
            record.removed = not record.waiting_since
    return []


def _find_renamed(
    gone: Mapping[str, tuple[str, ...]], added: Sequence[PlacedEntry], descriptions: Mapping[str, str]
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
    profile: LearnerProfile, state: LearnerState, rows: Sequence[LedgerRow], *, is_settled: bool
) -> tuple[list[LedgerRow], set[RowKey]]:
    """The rows to apply now, by stamp, and the keys of those to apply later.

    Corrects the number of known rows if the ledger was changed by hand. Without a memory of the profile, rows up to its
    newest stamp count as known: what stands there is the input.
    """
    planned = {report.row.key for report in state.reports if not report.is_done}
    done = {report.row.key for report in state.reports if report.is_done}
    known_to = ""
    if state.written is None:
        stamps = [held.session.stamp for held in profile.sessions]
        known_to = max([*stamps, *(max(placed.entry.dates) for placed in profile.weaknesses)], default="")
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
    profile: LearnerProfile,
    state: LearnerState,
    rows: Sequence[LedgerRow],
    new: Sequence[LedgerRow],
    judged: Collection[str],
    again: Sequence[str],
    result: SyncResult,
) -> EntryBook:
    """Apply the new rows one by one, each with the caps of its time, after what was lost by damage."""
    tags = dict.fromkeys([*(tag for row in rows for tag in row.tags), *state.tags])
    book = EntryBook(profile, state, tags)
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
        _describe(row, reports.get(row.key), state, result.vague)
        is_judged = row.key not in reports and row.stamp in judged
        changes = {} if is_judged else arrive(book.entries, row, before, made)
        book.put(changes, made)
    book.put({}, made)
    book.finish()
    return book


def _describe(row: LedgerRow, report: ReportRecord | None, state: LearnerState, vague: list[str]) -> None:
    """Set the description of new gaps: as given, otherwise where the gap was observed (SPEC L-10)."""
    for tag in row.tags:
        record = state.find_tag(tag)
        if not record.description:
            given = report.texts.get(tag, "") if report is not None else ""
            record.description, is_specific = describe_gap(tag, given, row.problem, row.pattern, row.stamp)
            vague += [] if is_specific else [tag]


def _format_observations(report: ReportRecord, fresh: RowKey | None) -> str:
    """The text below a row that was reported."""
    if report.row.key == fresh:
        return report.observations
    return "\n".join(part for part in (RECOVERED, report.observations) if part)


def _note_written(
    profile: LearnerProfile,
    state: LearnerState,
    tags: Mapping[str, None],
    pending: Collection[WeaknessEntry],
) -> None:
    """Remember the entries as they are now, so that a later change is recognised.

    `pending` are entries that others wrote, maybe for a session that is not compared yet: they stay unknown until then.
    """
    matched = match_entries(profile, tags, state.aliases)
    for tag, placed in matched.items():
        record = state.find_tag(tag)
        record.label = placed.entry.label if placed.entry.label != tag else ""
        record.description = placed.entry.description or record.description
    before = state.written or {}
    state.written = {
        entry.label: before[entry.label] if entry in pending else entry.dates
        for entry in (placed.entry for placed in profile.weaknesses)
        if entry not in pending or entry.label in before
    }
