"""The splices that bring Known Weaknesses and Session History in line with the state. Pure.

Lines that are right already are not touched. About Me is never in a splice (SPEC L-03). The formats are in
`weakness_md.py` and `history_md.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learner.alias_learning import LearnedLabels
from tacitd_handlers.learner.formats.history_md import RECOVERED, correct_entry, format_session, matches_row
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import (
    LearnerProfile,
    PlacedEntry,
    PlacedSession,
    Splice,
    insert_session,
    insert_weaknesses,
    remove_span,
)
from tacitd_handlers.learner.formats.weakness_md import format_entry, update_entry
from tacitd_handlers.learner.rules.ledger_fold import NEWEST
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.session_pairing import is_among, key_of_row, pair_sessions
from tacitd_handlers.learner.state import LearnerState, SessionKey


class HistoryChanges(Struct):
    """The splices of Session History, and the keys to report."""

    splices: list[Splice] = field(default_factory=list)
    added: list[SessionKey] = field(default_factory=list)
    corrected: list[SessionKey] = field(default_factory=list)
    aged: str = ""
    """The newest stamp that the cap removed in this call."""


def splice_weaknesses(
    profile: LearnerProfile, state: LearnerState, labels: LearnedLabels
) -> Iterator[Splice]:
    """The splices for Known Weaknesses."""
    lists, matched = state.lists, labels.matched
    before_at = {placed.span: placed for placed in profile.weaknesses}
    yield from (remove_span(placed.span) for placed in labels.doubles)
    out = {*lists.pending, *lists.dropped, *state.removed}
    for tag, placed in matched.by_tag.items():
        if tag in out:
            yield remove_span(placed.span)
    for resolved, tags in ((False, lists.active), (True, lists.resolved)):
        entries: list[list[str]] = []
        for placed in labels.rewritten:
            if placed.resolved is resolved:
                was, after = before_at[placed.span], profile.bare_lines(placed.span)
                if placed.entry != was.entry:
                    after = update_entry(after, placed.entry)
                if was.resolved is resolved:
                    yield Splice(placed.span, tuple(after))
                else:
                    yield remove_span(placed.span)
                    entries.append(after)
        for tag in tags:
            weakness = _weakness_of(state, tag, matched.by_tag.get(tag))
            current = matched.by_tag.get(tag)
            if weakness is None or (current is not None and current.entry.status is None):
                continue  # no row shows it yet, or a person is in the middle of editing the entry
            if current is None:
                entries.append(format_entry(state.aliases.get(tag, tag), state.texts.get(tag, tag), weakness))
                continue
            before = profile.bare_lines(current.span)
            after = update_entry(before, weakness)
            if before_at[current.span].resolved is not resolved:
                yield remove_span(current.span)
                entries.append(after)
            elif after != before:
                yield Splice(current.span, tuple(after))
        if entries:
            yield insert_weaknesses(profile, resolved, entries)


def _weakness_of(state: LearnerState, tag: str, placed: PlacedEntry | None) -> Weakness | None:
    """The weakness, with `First observed` of a person's entry if that is earlier."""
    weakness = state.folded.tags.get(tag)
    if weakness is None:
        return None
    first = placed.entry.first if placed is not None else None
    return replace(weakness, first=first) if first and first < weakness.first else weakness


def splice_sessions(
    profile: LearnerProfile,
    state: LearnerState,
    rows_at: Callable[[str], Iterable[LedgerRow]],
    observations: Callable[[LedgerRow], str],
    hold: frozenset[SessionKey] | None,
) -> HistoryChanges:
    """The splices for Session History: missing rows, entries that disagree, and the cap (SPEC L-32, L-38).

    `hold` contains the keys that may be added or corrected now, because others may still be written by Claude. None:
    all.
    """
    changes = HistoryChanges()
    there = pair_sessions(_without_doubles(profile, rows_at, changes), rows_at)
    for held in there:
        row, placed = held.row, held.placed
        if row is None or matches_row(placed.session, row) or (hold is not None and held.key not in hold):
            continue
        changes.splices.append(
            Splice(placed.span, tuple(correct_entry(profile.bare_lines(placed.span), row)))
        )
        changes.corrected.append(held.key)
    wanted = _missing(state, {held.key for held in there} | {*profile.strays}, hold)
    _apply_cap([held.placed for held in there], wanted, changes)
    for row in reversed(wanted):
        changes.splices.append(insert_session(profile, row.stamp, format_session(row, observations(row))))
        changes.added.append(key_of_row(row))
    return changes


def _without_doubles(
    profile: LearnerProfile, rows_at: Callable[[str], Iterable[LedgerRow]], changes: HistoryChanges
) -> list[PlacedSession]:
    """The entries without those recovered from the ledger for which there is another entry, and no other row."""
    removed: list[PlacedSession] = []
    for double in find_doubles(profile, rows_at):
        changes.splices.append(remove_span(double.own_span))
        removed.append(double)
    return [held for held in profile.sessions if held not in removed]


def find_doubles(
    profile: LearnerProfile, rows_at: Callable[[str], Iterable[LedgerRow]]
) -> list[PlacedSession]:
    """The entries recovered from the ledger whose session has another entry."""
    by_key: dict[SessionKey, list[PlacedSession]] = {}
    for held in profile.sessions:
        by_key.setdefault(held.session.key, []).append(held)
    found: list[PlacedSession] = []
    for key, same in by_key.items():
        ours = [held for held in same if held.session.observations == RECOVERED]
        if len(same) > len(ours) > 0:
            rows = {row.key for row in rows_at(key[0]) if (row.stamp, row.problem, row.mode) == key}
            found += ours[: max(0, len(same) - max(1, len(rows)))]
    return found


def _missing(
    state: LearnerState, there: set[SessionKey], hold: frozenset[SessionKey] | None
) -> list[LedgerRow]:
    """The rows without an entry, oldest first, except those that a person or the cap removed."""
    found: dict[SessionKey, LedgerRow] = {}
    for row in state.folded.newest[-NEWEST:]:
        key = key_of_row(row)
        kept_out = is_among(key, there) or is_among(key, state.gone) or row.stamp <= state.aged
        if not kept_out and (hold is None or key in hold):
            found.setdefault(key, row)
    return list(found.values())


def _apply_cap(there: Sequence[PlacedSession], wanted: list[LedgerRow], changes: HistoryChanges) -> None:
    """Apply the cap: the oldest entries by stamp are removed, whatever their order; for equal stamps the lower one."""
    over = len(there) + len(wanted) - NEWEST
    if over <= 0:
        return
    ages: list[tuple[str, int, PlacedSession | LedgerRow]] = [
        (held.session.stamp, -held.span.start, held) for held in there
    ]
    ages += [(row.stamp, at, row) for at, row in enumerate(wanted, start=1)]
    for stamp, _, one in sorted(ages, key=lambda item: item[:2])[:over]:
        changes.aged = max(changes.aged, stamp)
        if isinstance(one, PlacedSession):
            # A removed entry must not be corrected as well: the two splices would overlap.
            changes.splices = [splice for splice in changes.splices if splice.span != one.span]
            changes.splices.append(remove_span(one.own_span))
        else:
            wanted.remove(one)
