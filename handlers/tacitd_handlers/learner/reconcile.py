"""Reconciliation of profile and ledger: the profile's bytes and the state in, the profile as it should be out.

Pure. The ledger decides verdicts, gaps, review dates, stamps and counts; the person decides everything else. `edit`
calls it again from the start if somebody saved in between, so no call depends on an earlier one (SPEC X-07).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacitd_handlers.learner import render
from tacitd_handlers.learner.formats.history_md import RECOVERED
from tacitd_handlers.learner.formats.ledger_md import LedgerRow, RowKey
from tacitd_handlers.learner.formats.profile_md import (
    HISTORY,
    RESOLVED,
    SECTIONS,
    TEMPLATE,
    WEAKNESSES,
    LearnerProfile,
    apply_splices,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.manual_edits import (
    MatchedEntries,
    detect_edits,
    find_renamed,
    find_tested_ahead,
    match_entries,
)
from tacitd_handlers.learner.rules import capacity, ledger_fold
from tacitd_handlers.learner.rules.capacity import Move, WeaknessLists
from tacitd_handlers.learner.rules.description_check import describe_gap
from tacitd_handlers.learner.rules.ledger_fold import FoldedLedger, FoldInputs, Override
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.resolution import prove_resolution
from tacitd_handlers.learner.rules.vocabulary import LONG
from tacitd_handlers.learner.session_details import Intent
from tacitd_handlers.learner.state import LearnerState, SessionKey, WrittenEntry, decode_state, encode_state


@dataclass(frozen=True, slots=True)
class ReconcileInput:
    """The input besides the profile and the state."""

    ledger: Ledger
    intents: Mapping[RowKey, Intent] = field(default_factory=dict)
    """What `record` was given, by the keys of the rows."""
    settled: bool = True
    """Whether nobody is in the middle of writing. Only then are entries and rows of others completed and corrected."""
    restored: frozenset[str] = frozenset()
    """Sections that a session start restored empty, and whose entries must be written again."""


@dataclass(slots=True)
class ReconcileResult:
    """The profile as it should be, and the state after it is written."""

    data: bytes | None
    """None: there is nothing to write."""
    state: LearnerState
    repaired: list[str] = field(default_factory=list)
    """Sections that were missing."""
    added: list[SessionKey] = field(default_factory=list)
    corrected: list[SessionKey] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    queue_changed: bool = False
    """Whether the list of tags that wait for room changed."""
    vague: list[str] = field(default_factory=list)
    """Tags whose description was completed with a stamp (SPEC L-10)."""


def reconcile_profile(data: bytes | None, state: LearnerState, news: ReconcileInput) -> ReconcileResult:
    """Given a profile (None if it does not exist) and the state, return both as they should be. Modifies `state`.

    Raises FileRefusedError if the profile cannot be read as text.
    """
    if data is None and not news.ledger:
        return ReconcileResult(None, state)
    if data is None or zlib.crc32(data) == state.profile:
        return _reconciled(data, state, news, noticing=data is None)
    # The profile differs from what the state says was written. After a crash the state can be older than the profile.
    # Then reconciling without a person's changes gives exactly these bytes, and nobody changed anything.
    copy = decode_state(encode_state(state))
    if copy is not None and not state.is_new:
        plain = _reconciled(data, copy, news, noticing=False)
        if plain.data == data:
            return plain
    return _reconciled(data, state, news, noticing=True)


def _reconciled(
    data: bytes | None, state: LearnerState, news: ReconcileInput, *, noticing: bool
) -> ReconcileResult:
    result = ReconcileResult(None, state)
    waited = list(state.seats.pending)
    whole, result.repaired = restore_sections(data if data is not None else TEMPLATE)
    profile = parse_profile(whole)
    rows, full = _new_rows(state, news.ledger)
    known = _known_tags(state, rows, news)
    gone = {*result.repaired, *news.restored, *(SECTIONS if data is None else ())}
    adopted: list[Override] = []
    # A section that is missing, or that was just restored, is damage: its missing entries are not a person's removals.
    if WEAKNESSES in gone:
        _reset_written(state)
    elif noticing:
        state.aliases |= find_renamed(state, match_entries(profile, known, state.aliases))
        adopted = detect_edits(
            state,
            match_entries(profile, known, state.aliases),
            rows,
            places=RESOLVED not in gone or state.is_new,
        )
    if noticing:
        _note_gone(profile, state, damaged=HISTORY in gone)
    matched = match_entries(profile, known, state.aliases)
    _apply_rows(matched, state, news, rows, result, full=full, adopted=adopted)
    hold = None if news.settled else frozenset((k.stamp, k.problem, k.mode) for k in news.intents)
    changes = render.splice_sessions(profile, state, _row_of(state, news.ledger), _observations(news), hold)
    result.added, result.corrected = changes.added, changes.corrected
    state.aged = max(state.aged, changes.aged)
    # One call for all splices: their positions refer to the lines of `profile`.
    result.data = apply_splices(
        profile, [*render.splice_weaknesses(profile, state, matched), *changes.splices]
    )
    _note_written(result.data, state)
    result.queue_changed = waited != state.seats.pending
    return result


def _apply_rows(
    matched: MatchedEntries,
    state: LearnerState,
    news: ReconcileInput,
    rows: Sequence[LedgerRow],
    result: ReconcileResult,
    *,
    full: bool,
    adopted: Sequence[Override],
) -> None:
    """Fold the rows into the state, and apply the caps."""
    _describe(state, rows, news, result)
    beside = build_fold_inputs(state, news)
    if full:
        _fold_anew(state, rows, beside, result)
    else:
        _fold_on(state, rows, beside, result, adopted)
    late = find_tested_ahead(state, matched, {row.stamp for row in rows})
    if late:
        for tag, stamp in late.items():
            state.also.setdefault(stamp, []).append(tag)
        beside = build_fold_inputs(state, news)
        _fold_anew(state, ledger_fold.in_order(news.ledger.parse_rows().rows), beside, result)
    state.size, state.crc = len(news.ledger), news.ledger.compute_crc()


def _reset_written(state: LearnerState) -> None:
    """The file or its section is missing: its entries must be written again, and a person's own no longer count."""
    state.wrote = {}
    state.seats.others_active = state.seats.others_resolved = 0


def _new_rows(state: LearnerState, ledger: Ledger) -> tuple[list[LedgerRow], bool]:
    """The rows to fold, in order, and whether they are the whole ledger.

    They are the whole ledger if it was changed by hand, or if a new row is older than what is folded.
    """
    if state.size and ledger.has_prefix(state.size, state.crc):
        table = ledger.parse_rows(state.size)
        fresh = ledger_fold.in_order(table.rows)
        if all(row.stamp >= state.folded.last for row in fresh[:1]):
            state.bad += len(table.bad)
            return fresh, False
    table = ledger.parse_rows()
    state.bad = len(table.bad)
    return ledger_fold.in_order(table.rows), True


def _known_tags(state: LearnerState, rows: Iterable[LedgerRow], news: ReconcileInput) -> dict[str, None]:
    """Every tag in the state, in the new rows, or in an intent."""
    tags = dict.fromkeys((*state.folded.tags, *state.wrote, *state.given))
    for gaps in {row.gaps: row.tags for row in rows}.values():
        tags.update(dict.fromkeys(gaps))
    for intent in news.intents.values():
        tags.update(dict.fromkeys(intent.tested or ()))
    return tags


def build_fold_inputs(state: LearnerState, news: ReconcileInput) -> FoldInputs:
    """The fold's input that is not in the ledger."""

    def tested(row: LedgerRow) -> Iterable[str] | None:
        intent = news.intents.get(row.key)
        return intent.tested if intent is not None else None

    def has_row(stamp: str) -> bool:
        return stamp == state.folded.last or bool(news.ledger.find_rows(stamp))

    return FoldInputs(state.given, tested, state.also, has_row)


def _fold_on(
    state: LearnerState,
    rows: Sequence[LedgerRow],
    beside: FoldInputs,
    result: ReconcileResult,
    overrides: Iterable[Override],
) -> None:
    """Fold row by row, and apply the caps after each row."""
    waiting = sorted(overrides)
    for row in rows:
        ledger_fold.replay_overrides(state.folded, waiting, row)
        result.moves += _move_weaknesses(state, ledger_fold.fold_row(state.folded, row, beside), beside)
    ledger_fold.replay_overrides(state.folded, waiting, None)


def _fold_anew(
    state: LearnerState, rows: Sequence[LedgerRow], beside: FoldInputs, result: ReconcileResult
) -> None:
    """Fold all rows from the start.

    If no tag is assigned to a list yet, the caps are applied after each row, as in `_fold_on`. Otherwise the lists
    stay, and only tags whose status changed can move.
    """
    before, seats = {tag: weakness.status for tag, weakness in state.folded.tags.items()}, state.seats
    state.folded = FoldedLedger()
    if seats == WeaknessLists(others_active=seats.others_active, others_resolved=seats.others_resolved):
        _fold_on(state, rows, beside, result, state.overrides)
        return
    waiting = sorted(state.overrides)
    for row in rows:
        ledger_fold.replay_overrides(state.folded, waiting, row)
        ledger_fold.fold_row(state.folded, row, beside)
    ledger_fold.replay_overrides(state.folded, waiting, None)
    now = state.folded.tags
    for each in (seats.active, seats.resolved, seats.pending, seats.dropped):
        each[:] = [tag for tag in each if tag in now or tag in state.given]
    changed = [
        tag for tag, w in now.items() if seats.find_list(tag) is None or before.get(tag, w.status) != w.status
    ]
    result.moves += _move_weaknesses(state, changed, beside)


def _move_weaknesses(state: LearnerState, touched: Iterable[str], beside: FoldInputs) -> list[Move]:
    def proved(weakness: Weakness) -> bool:
        return prove_resolution(weakness, beside.has_row).proved

    tags = _with_given(state)
    moves = capacity.move_tags(state.seats, tags, touched, state.removed, proved)
    for move in moves:
        if move.what == "makes room":
            state.overrides.append(Override(*ledger_fold.fold_position(state.folded), move.tag, LONG))
            state.folded.tags[move.tag] = tags[move.tag]
    return moves


def _with_given(state: LearnerState) -> dict[str, Weakness]:
    """All weaknesses that have a list. Those that only the profile has are as their entries say."""
    if not state.given:
        return state.folded.tags
    return {**state.given, **state.folded.tags}


def _describe(
    state: LearnerState, rows: Iterable[LedgerRow], news: ReconcileInput, result: ReconcileResult
) -> None:
    """Set the description of new gaps: as given, otherwise where the gap was observed (SPEC L-10)."""
    for row in rows:
        intent = news.intents.get(row.key)
        for tag in row.tags:
            if tag in state.texts:
                continue
            said = intent.descriptions.get(tag, "") if intent is not None else ""
            text, well = describe_gap(tag, said, row.problem, row.pattern, row.stamp)
            state.texts[tag] = text
            if not well:
                result.vague.append(tag)


def _note_gone(profile: LearnerProfile, state: LearnerState, *, damaged: bool) -> None:
    """Note sessions that were in the profile and are not any more: a person or Claude removed them (SPEC L-30)."""
    if damaged:
        state.gone = [key for key in state.gone if key[0] > state.aged]
        return
    there = {held.session.key for held in profile.sessions}
    taken = [key for key in state.sessions if key not in there and key not in state.gone]
    state.gone = [key for key in (*state.gone, *taken) if key not in there and key[0] > state.aged]


def _row_of(state: LearnerState, ledger: Ledger) -> Callable[[SessionKey], LedgerRow | None]:
    newest = render.by_key(state.folded.newest)

    def row_of(key: SessionKey) -> LedgerRow | None:
        if key in newest:
            return newest[key]
        return render.by_key(ledger.find_rows(key[0])).get(key)

    return row_of


def _observations(news: ReconcileInput) -> Callable[[LedgerRow], str]:
    """A function that returns the text below a row without an entry."""

    def text(row: LedgerRow) -> str:
        intent = news.intents.get(row.key)
        if intent is None:
            return RECOVERED
        said = "\n".join(part for part in (intent.observations, intent.trajectory) if part)
        return said if intent.fresh else "\n".join(part for part in (RECOVERED, said) if part)

    return text


def _note_written(data: bytes, state: LearnerState) -> None:
    """Store what was written, as the base for detecting a later change."""
    profile = parse_profile(data)
    matched = match_entries(profile, dict.fromkeys((*state.folded.tags, *state.given)), state.aliases)
    state.wrote = {
        tag: WrittenEntry(
            p.entry.label,
            p.entry.description,
            p.entry.first or "",
            p.entry.tested or "",
            p.entry.status or "",
            p.resolved,
        )
        for tag, p in matched.by_tag.items()
    }
    state.sessions = [held.session.key for held in profile.sessions]
    state.profile = zlib.crc32(data)
