"""Detection of what a person, or Claude, changed in the profile since tacitd last wrote it.

Pure; changes only the state. A change that carries the stamp of a session is bookkeeping of that session, and the
ledger overrides it (SPEC L-38). Every other change is a person's and is kept: statuses (SPEC L-31), descriptions,
labels (SPEC L-11), placement and removals (SPEC L-30).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import LearnerProfile, PlacedEntry
from tacitd_handlers.learner.rules.ledger_fold import LAST, Override, fold_position
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.vocabulary import RECURRING, make_slug, tag_of
from tacitd_handlers.learner.state import LearnerState, WrittenEntry


@dataclass(frozen=True, slots=True)
class MatchedEntries:
    """The profile's weaknesses by tag, and those without a tag."""

    by_tag: Mapping[str, PlacedEntry]
    others: Sequence[PlacedEntry]


def match_entries(
    profile: LearnerProfile, tags: Collection[str], aliases: Mapping[str, str]
) -> MatchedEntries:
    """Match the entries of a profile to tags (SPEC L-11).

    An entry belongs to a tag if its label is the tag, has the same slug, or is an alias that a person gave the tag. A
    second entry of the same tag counts as one without a tag.
    """
    by_label = {label: tag for tag, label in aliases.items()}
    by_slug: dict[str, str] = {}
    tails: dict[str, list[str]] = {}
    for each in tags:
        by_slug.setdefault(make_slug(each), each)
        tails.setdefault(make_slug(each.rpartition(":")[2]), []).append(each)
    by_tag: dict[str, PlacedEntry] = {}
    others: list[PlacedEntry] = []
    for placed in profile.weaknesses:
        tag = _tag(placed.entry.label, tags, by_label, by_slug, tails)
        if tag is None or tag in by_tag:
            others.append(placed)
        else:
            by_tag[tag] = placed
    return MatchedEntries(by_tag, others)


def _tag(
    label: str,
    tags: Collection[str],
    by_label: Mapping[str, str],
    by_slug: Mapping[str, str],
    tails: Mapping[str, Sequence[str]],
) -> str | None:
    if label in by_label:
        return by_label[label]
    if tag_of(label) in tags:
        return tag_of(label)
    whole = make_slug(label)
    if whole in by_slug:
        return by_slug[whole]
    tail = tails.get(whole, ())
    return tail[0] if len(tail) == 1 else None


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
        if len(same) == 1:
            found[tag] = same[0].label
            free.remove(same[0])
    return found


def detect_edits(
    state: LearnerState, matched: MatchedEntries, rows: Sequence[LedgerRow], *, places: bool = True
) -> list[Override]:
    """Store a person's changes in the state, and return the overrides that the fold must replay among `rows`.

    `rows` are those not folded yet. `places` is False if `### Resolved` is missing: then the position of an entry
    carries no information. Call only if the profile has Known Weaknesses: a missing section or file is damage and not
    a removal.
    """
    _notice_removed(state, matched)
    if places:
        _notice_places(state, matched)
    adopted: list[Override] = []
    for tag, placed in matched.by_tag.items():
        wrote = state.wrote.get(tag)
        if wrote is None:
            adopted += _adopt(state, tag, placed, rows)
        else:
            _notice_edit(state, tag, placed, wrote)
        state.texts[tag] = placed.entry.description or state.texts.get(tag, "")
    return adopted


def _notice_removed(state: LearnerState, matched: MatchedEntries) -> None:
    for tag in state.wrote:
        found_in = state.seats.find_list(tag)
        if tag not in matched.by_tag and tag not in state.removed and found_in is not None:
            state.removed.append(tag)
            found_in.remove(tag)
    for tag in matched.by_tag:
        if tag in state.removed:
            state.removed.remove(tag)  # a person added it again


def _notice_places(state: LearnerState, matched: MatchedEntries) -> None:
    lists = state.seats
    there = matched.by_tag
    lists.active = [tag for tag, placed in there.items() if not placed.resolved]
    lists.resolved = [tag for tag, placed in there.items() if placed.resolved]
    lists.pending = [tag for tag in lists.pending if tag not in there and tag not in state.removed]
    lists.dropped = [tag for tag in lists.dropped if tag not in there and tag not in state.removed]
    lists.others_active = sum(not placed.resolved for placed in matched.others)
    lists.others_resolved = sum(placed.resolved for placed in matched.others)


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


def _adopt(state: LearnerState, tag: str, placed: PlacedEntry, rows: Iterable[LedgerRow]) -> list[Override]:
    """Take over an entry that tacitd never wrote.

    If the ledger has a failure newer than the entry's, it becomes recurring.
    """
    entry, known = placed.entry, state.folded.tags.get(tag)
    if entry.status is None or not entry.tested:
        return []
    shown = [row.stamp for row in rows if row.stamp <= entry.tested and tag in row.tags]
    if known is not None:
        shown.append(known.failed)
    if not shown:
        state.given.setdefault(tag, _as_weakness(tag, placed))
        return []
    status = RECURRING if max(shown) > (entry.failed or "") else entry.status
    state.overrides.append(Override(entry.tested, LAST, tag, status))
    return [state.overrides[-1]]


def _as_weakness(tag: str, placed: PlacedEntry) -> Weakness:
    e = placed.entry
    tested = e.tested or ""
    return Weakness(
        tag, e.status or "", e.first or tested, tested, e.failed or "", e.streak or "", e.clean or 0
    )


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
