"""Detection of what a person, or Claude, changed in the profile since tacitd last wrote it.

Pure; changes only the state. A change that carries the stamp of a session is bookkeeping of that session, and the
ledger overrides it (SPEC L-38). Every other change is a person's and is kept: statuses (SPEC L-31), descriptions,
labels (SPEC L-11), placement and removals (SPEC L-30).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from tacitd_handlers.learner.entry_matching import MatchedEntries
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import PlacedEntry
from tacitd_handlers.learner.rules.ledger_fold import LAST, Override, fold_position
from tacitd_handlers.learner.rules.vocabulary import RECURRING
from tacitd_handlers.learner.state import LearnerState, WrittenEntry


def find_renamed(state: LearnerState, matched: MatchedEntries) -> dict[str, str]:
    """By tag, the new label of entries that a person renamed.

    An entry counts as renamed if the tag's entry is missing, and exactly one unmatched entry has the same description
    and First observed.
    """
    found: dict[str, str] = {}
    free = [placed.entry for placed in matched.others]
    for tag, wrote in state.wrote.items():
        if tag in matched.by_tag or tag in state.removed:
            continue
        same = [e for e in free if e.description == wrote.description and e.first == wrote.first]
        if len(same) == 1 and (same[0].label, tag) not in state.separate:
            found[tag] = same[0].label
            free.remove(same[0])
    return found


def detect_edits(
    state: LearnerState,
    matched: MatchedEntries,
    rows: Sequence[LedgerRow],
    has_row: Callable[[str], bool],
    *,
    places: bool = True,
) -> list[Override]:
    """Store a person's changes in the state, and return the overrides that the fold must replay among `rows`.

    `rows` are those not folded yet; `has_row` returns whether any row has a stamp. `places` is False if `### Resolved` is missing: then the position of an entry
    carries no information. Call only if the profile has Known Weaknesses: a missing section or file is damage and not
    a removal.
    """
    _notice_removed(state, matched)
    if places:
        _notice_places(state, matched, rows)
    for tag, placed in matched.by_tag.items():
        wrote = state.wrote.get(tag)
        if wrote is not None:
            _notice_edit(state, tag, placed, wrote)
            state.texts[tag] = placed.entry.description or state.texts.get(tag, "")
    return adopt_entries(state, matched, rows, has_row)


def adopt_entries(
    state: LearnerState, matched: MatchedEntries, rows: Sequence[LedgerRow], has_row: Callable[[str], bool]
) -> list[Override]:
    """Take over the entries that tacitd never wrote, and return the overrides as `detect_edits` does."""
    adopted: list[Override] = []
    for tag, placed in matched.by_tag.items():
        if tag in state.wrote:
            continue
        if tag in state.lists.pending:
            state.lists.pending.remove(tag)  # it has room already
        adopted += _adopt(state, tag, placed, rows, has_row)
        state.texts[tag] = placed.entry.description or state.texts.get(tag, "")
    return adopted


def _notice_removed(state: LearnerState, matched: MatchedEntries) -> None:
    for tag in state.wrote:
        found_in = state.lists.find_list(tag)
        if tag not in matched.by_tag and tag not in state.removed and found_in is not None:
            state.removed.append(tag)
            found_in.remove(tag)
    for tag in matched.by_tag:
        if tag in state.removed:
            state.removed.remove(tag)  # a person added it again


def find_entering(state: LearnerState, rows: Sequence[LedgerRow]) -> set[str]:
    """The tags whose first row is among `rows`: their entries were not there before it, and take no room until then."""
    return {tag for row in rows for tag in row.tags if tag not in state.folded.tags}


def _notice_places(state: LearnerState, matched: MatchedEntries, rows: Sequence[LedgerRow]) -> None:
    """Take the lists from the profile. `rows` are not folded yet.

    An entry that a session wrote, for a gap that is new or that a full `### Resolved` dropped, was not there before
    that session: the fold of its row brings it in.
    """
    lists, new = state.lists, {row.stamp for row in rows}
    there = matched.by_tag
    dropped = {tag for tag in lists.dropped if tag not in there or there[tag].entry.tested in new}
    dropped.difference_update(state.removed)
    out = dropped | find_entering(state, rows)
    lists.active = [tag for tag, placed in there.items() if not placed.resolved and tag not in out]
    lists.resolved = [tag for tag, placed in there.items() if placed.resolved and tag not in out]
    lists.pending = [tag for tag in lists.pending if tag not in there and tag not in state.removed]
    lists.dropped = [tag for tag in lists.dropped if tag in dropped]


def _notice_edit(state: LearnerState, tag: str, placed: PlacedEntry, wrote: WrittenEntry) -> None:
    """Keep a status that changed while `Last tested` did not: a person wrote it (SPEC L-31)."""
    entry, weakness = placed.entry, state.folded.tags.get(tag)
    if (
        entry.status is None
        or entry.status == wrote.status
        or entry.tested != wrote.tested
        or weakness is None
    ):
        return
    state.overrides.append(Override(*fold_position(state.folded), tag, entry.status))
    state.folded.tags[tag] = replace(weakness, status=entry.status)


def _adopt(
    state: LearnerState,
    tag: str,
    placed: PlacedEntry,
    rows: Sequence[LedgerRow],
    has_row: Callable[[str], bool],
) -> list[Override]:
    """Take over an entry that tacitd never wrote.

    If the ledger has a failure newer than the entry's, it becomes recurring. An entry that a session wrote anew for a
    gap with earlier rows is the session's bookkeeping: the rows decide its status.
    """
    entry, known = placed.entry, state.folded.tags.get(tag)
    if entry.status is None or not entry.tested:
        return []
    if known is not None and entry.first and known.first < entry.first and has_row(entry.first):
        return []
    shown = [row.stamp for row in rows if row.stamp <= entry.tested and tag in row.tags]
    if known is not None:
        shown.append(known.failed)
    if not shown:
        given = entry.as_weakness(tag)
        state.given.setdefault(tag, replace(given, first=given.first or given.tested))
        return []
    status = RECURRING if max(shown) > (entry.failed or "") else entry.status
    state.overrides.append(Override(entry.tested, LAST, tag, status))
    return [state.overrides[-1]]


def find_tested_ahead(
    state: LearnerState, matched: MatchedEntries, is_row: Collection[str]
) -> dict[str, str]:
    """By tag, the stamp of a session that tested it according to the profile, though the ledger row does not show it.

    Claude knows what it tested. `is_row` are the stamps that have a row.
    """
    found: dict[str, str] = {}
    for tag, placed in matched.by_tag.items():
        known, tested = state.folded.tags.get(tag), placed.entry.tested
        if known is not None and tested and tested > known.tested and tested in is_row:
            found[tag] = tested
    return found
