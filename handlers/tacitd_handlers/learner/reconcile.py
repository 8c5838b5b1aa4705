"""Reconciliation of profile and ledger: the profile's bytes and the state in, the profile as it should be out.

Pure. The ledger decides verdicts, gaps, review dates, stamps and counts; the person decides everything else. `edit`
calls it again from the start if somebody saved in between, so no call depends on an earlier one (SPEC X-07).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

from tacitd_handlers.learner import render
from tacitd_handlers.learner.alias_learning import LabelSources, learn_labels
from tacitd_handlers.learner.entry_matching import match_entries
from tacitd_handlers.learner.formats.history_md import RECOVERED
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
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
from tacitd_handlers.learner.manual_edits import adopt_entries, detect_edits, find_renamed
from tacitd_handlers.learner.reconcile_types import ReconcileInput, ReconcileResult
from tacitd_handlers.learner.row_folding import find_new_rows, fold_rows, list_known_tags
from tacitd_handlers.learner.rules import ledger_fold
from tacitd_handlers.learner.rules.ledger_fold import Override
from tacitd_handlers.learner.session_pairing import is_among, key_of_row, pair_sessions
from tacitd_handlers.learner.state import LearnerState, WrittenEntry


def reconcile_profile(data: bytes | None, state: LearnerState, news: ReconcileInput) -> ReconcileResult:
    """Given a profile (None if it does not exist) and the state, return both as they should be. Modifies `state`.

    Raises FileRefusedError if the profile cannot be read as text.
    """
    if data is None and not news.ledger:
        return ReconcileResult(None, state)
    # With the bytes that were written last there is nothing of a person to notice.
    noticing = data is None or zlib.crc32(data) != state.profile
    result = ReconcileResult(None, state)
    waited = list(state.lists.pending)
    whole, result.repaired = restore_sections(data if data is not None else TEMPLATE)
    profile = parse_profile(whole)
    rows, full = find_new_rows(state, news.ledger)
    known = list_known_tags(state, rows, news)
    gone = {*result.repaired, *news.restored, *(SECTIONS if data is None else ())}
    adopted: list[Override] = []
    # A section that is missing, or that was just restored, is damage: its missing entries are not a person's removals.
    if WEAKNESSES in gone:
        state.wrote = {}  # its entries must be written again
    elif noticing:
        state.aliases |= find_renamed(state, match_entries(profile, known, state.aliases, state.separate))
    sources = LabelSources(news.ledger, news.intents)
    labels = learn_labels(profile, state, known, sources, noticing=noticing and WEAKNESSES not in gone)
    result.questions = labels.questions
    matched = labels.matched

    def has_row(stamp: str) -> bool:
        return bool(news.ledger.find_rows(stamp))

    if WEAKNESSES not in gone and noticing:
        adopted = detect_edits(state, matched, rows, has_row, places=RESOLVED not in gone or state.is_new)
    elif WEAKNESSES not in gone:
        adopted = adopt_entries(state, matched, rows, has_row)  # with an alias that is new
    # A change before the newest row changes what the later rows mean, so all of them are folded again.
    if labels.undone or any(override.after < state.folded.last for override in adopted):
        rows, full = ledger_fold.in_order(news.ledger.parse_rows().rows), True
    rows_at = _rows_at(state, news.ledger)
    if noticing:
        _note_gone(profile, state, rows_at, damaged=HISTORY in gone)
    for tag, placed in matched.by_tag.items():
        if placed.entry.label != tag:
            state.aliases[tag] = placed.entry.label  # kept also if the entry must wait for room
    fold_rows(labels, state, news, rows, result, full=full, adopted=adopted)
    rows_at = _rows_at(state, news.ledger)
    hold = None if news.settled else frozenset(key_of_row(intent.row) for intent in news.intents.values())
    changes = render.splice_sessions(profile, state, rows_at, _observations(news), hold)
    result.added, result.corrected = changes.added, changes.corrected
    state.aged = max(state.aged, changes.aged)
    # One call for all splices: their positions refer to the lines of `profile`.
    result.data = apply_splices(
        profile, [*render.splice_weaknesses(profile, state, labels), *changes.splices]
    )
    # From the bytes and not from the plan: what parsing makes of them is what the next call compares with.
    _note_written(result.data, state, rows_at)
    result.queue_changed = waited != state.lists.pending
    return result


def _note_gone(
    profile: LearnerProfile,
    state: LearnerState,
    rows_at: Callable[[str], Iterable[LedgerRow]],
    *,
    damaged: bool,
) -> None:
    """Note sessions that were in the profile and are not any more: a person or Claude removed them (SPEC L-30)."""
    if damaged:
        state.gone = [key for key in state.gone if key[0] > state.aged]
        return
    there = {held.key for held in pair_sessions(profile.sessions, rows_at)} | {*profile.strays}
    taken = [key for key in state.sessions if not is_among(key, there) and key not in state.gone]
    state.gone = [key for key in (*state.gone, *taken) if not is_among(key, there) and key[0] > state.aged]


def _rows_at(state: LearnerState, ledger: Ledger) -> Callable[[str], Iterable[LedgerRow]]:
    """A function that returns the rows of a stamp. The ledger is searched only for those that the state lacks."""
    newest: dict[str, list[LedgerRow]] = {}
    for row in state.folded.newest:
        newest.setdefault(row.stamp, []).append(row)
    if newest:
        del newest[state.folded.newest[0].stamp]  # some of its rows may have left the list
        newest.pop(state.folded.last, None)  # the ledger may have further ones

    def rows_at(stamp: str) -> Iterable[LedgerRow]:
        return newest[stamp] if stamp in newest else ledger.find_rows(stamp)

    return rows_at


def _observations(news: ReconcileInput) -> Callable[[LedgerRow], str]:
    """A function that returns the text below a row without an entry."""

    def text(row: LedgerRow) -> str:
        intent = news.intents.get(row.key)
        if intent is None:
            return RECOVERED
        observed = "\n".join(part for part in (intent.observations, intent.trajectory) if part)
        return observed if intent.fresh else "\n".join(part for part in (RECOVERED, observed) if part)

    return text


def _note_written(data: bytes, state: LearnerState, rows_at: Callable[[str], Iterable[LedgerRow]]) -> None:
    """Store what was written, as the base for detecting a later change."""
    profile = parse_profile(data)
    tags = dict.fromkeys((*state.folded.tags, *state.given))
    matched = match_entries(profile, tags, state.aliases, state.separate)
    state.wrote = {
        tag: WrittenEntry(
            p.entry.label,
            p.entry.description,
            p.entry.first or "",
            p.entry.tested or "",
            p.entry.status or "",
            p.resolved,
            p.entry.failed or "",
        )
        for tag, p in matched.by_tag.items()
    }
    for tag, placed in matched.by_tag.items():
        if placed.entry.label != tag:  # another tag may be spelled the same one day
            state.aliases[tag] = placed.entry.label
        else:
            state.aliases.pop(tag, None)
    state.sessions = [held.key for held in pair_sessions(profile.sessions, rows_at)]
    state.profile = zlib.crc32(data)
