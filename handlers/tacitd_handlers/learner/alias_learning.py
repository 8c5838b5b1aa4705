"""Which entries with free labels are which tags' entries: learned from the ledger, and kept as aliases (SPEC L-11).

Pure; changes only the state. The evidence is judged in `rules/label_evidence.py`. A tag whose entry may be one of
several, or for which there is too little evidence, gets no entry of its own: it is held back, and the person is asked
once. An alias from one session is a guess until a second session confirms it (`label_guesses.py`). A tag's own entry
beside the person's is removed only if every byte of it is tacitd's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field

from tacitd_handlers.learner.entry_matching import MatchedEntries, match_entries
from tacitd_handlers.learner.formats.ledger_md import LedgerRow, RowKey
from tacitd_handlers.learner.formats.profile_md import LearnerProfile, PlacedEntry, Span
from tacitd_handlers.learner.formats.weakness_md import format_entry
from tacitd_handlers.learner.label_guesses import (
    describe_entry,
    describe_guess,
    find_guessed,
    note_bookkeeping,
    replace_entries,
    restore_fields,
    undo_guesses,
)
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.rules.description_check import describe_gap
from tacitd_handlers.learner.rules.label_evidence import LabelledEntry, PairedLabels, PairLimits, pair_labels
from tacitd_handlers.learner.session_details import Intent
from tacitd_handlers.learner.state import LearnerState


class LearnedLabels(Struct):
    """The entries by tag after labels were learned, and what follows."""

    matched: MatchedEntries
    is_own: Callable[[str], bool]
    """Whether a tag's entry is tacitd's to the byte."""
    doubles: list[PlacedEntry] = field(default_factory=list)
    """Entries of tacitd's beside an entry of the person for the same tag. They are removed."""
    released: list[str] = field(default_factory=list)
    """Tags that are not held back any more, and have no entry."""
    questions: list[tuple[str, str]] = field(default_factory=list)
    """New pairs of label and tag to ask the person about."""
    undone: Sequence[str] = ()
    """Tags whose guessed entry was not theirs. The ledger must be folded again."""
    rewritten: list[PlacedEntry] = field(default_factory=list)
    """Entries that are no tag's, with the fields and the place that they get."""


class LabelSources(Struct, frozen=True):
    """What is known besides the profile and the state."""

    ledger: Ledger
    intents: Mapping[RowKey, Intent]


def learn_labels(
    profile: LearnerProfile,
    state: LearnerState,
    tags: Collection[str],
    sources: LabelSources,
    *,
    noticing: bool,
) -> LearnedLabels:
    """Learn aliases, undo those that were guessed wrongly, and hold back the tags that remain unclear. Changes `state`.

    `tags` are all known tags. `noticing`: somebody changed the profile, so a missing entry was removed by a person.
    """
    matched = match_entries(profile, tags, state.aliases, state.separate)
    before, healed = state.held, state.healed
    state.healed = True
    state.guesses = {tag: guess for tag, guess in state.guesses.items() if tag in state.aliases}
    guessed = find_guessed(profile, state)
    if noticing:
        note_bookkeeping(state, guessed)
    entries = _labelled(matched, {placed.span for placed in guessed.values()})

    def is_own(tag: str) -> bool:
        return tag in matched.by_tag and is_own_entry(profile, tag, matched.by_tag[tag], sources)

    refused = any((placed.entry.label, tag) in state.separate for tag, placed in guessed.items())
    if not entries and not before and not (guessed and (noticing or refused)):
        return LearnedLabels(matched, is_own, _find_doubles(profile, matched, sources))
    own = {
        tag: restore_fields(placed, state.guesses[tag].course, resolved=state.guesses[tag].resolved)
        for tag, placed in guessed.items()
    }
    described = {tag: describe_entry(placed.entry) for tag, placed in own.items()}
    ours = {
        tag: placed
        for tag, placed in matched.by_tag.items()
        if is_own(tag) and _is_as_written(state, tag, placed)
    }
    bare = [tag for tag in tags if tag not in matched.by_tag and tag not in state.removed]
    # A tag's own entry is a double only of an entry that is as old: tacitd wrote it at the tag's first row.
    later = {
        (entry.label, tag)
        for entry in (*entries, *described.values())
        for tag, placed in ours.items()
        if entry.first > (placed.entry.first or "")
    }
    close = {(entry.label, tag) for entry in entries for tag in ours} if healed else set[tuple[str, str]]()
    pairs = pair_labels(
        entries,
        [*bare, *ours],
        lambda stamp: _shown_at(sources.ledger, stamp),
        described,
        PairLimits({*state.separate, *later}, state.removed, close),
    )
    profile = _undo_guesses(profile, state, pairs, own)
    matched = _store_aliases(profile, state, tags, pairs)
    bare += pairs.undone
    state.held = {tag: list(labels) for tag, labels in pairs.unclear.items() if tag in bare}
    released = [
        tag
        for tag in dict.fromkeys((*before, *pairs.undone))
        if tag not in state.held and tag not in matched.by_tag
    ]
    if noticing:
        released = _note_removed(profile, state, before, released)
    unclear = [
        (label, tag)
        for tag, labels in pairs.unclear.items()
        for label in labels
        if tag in bare or _first_of(entries, label) == (ours[tag].entry.first or "")
    ]
    questions = [pair for pair in unclear if pair not in state.asked]
    state.asked = [*(pair for pair in state.asked if pair in unclear), *questions]
    return LearnedLabels(
        matched,
        is_own,
        _find_doubles(profile, matched, sources),
        released,
        questions,
        pairs.undone,
        [own[tag] for tag in pairs.undone if own[tag] in matched.others],
    )


def _undo_guesses(
    profile: LearnerProfile, state: LearnerState, pairs: PairedLabels, own: Mapping[str, PlacedEntry]
) -> LearnerProfile:
    """Undo the guesses that were wrong, and return the profile with these entries' own fields.

    An entry of another tag is taken over with the fields with which it was found: what others wrote since is in rows.
    """
    tags = {label: tag for tag, label in pairs.aliases.items()}
    moves = {tag: tags.get(own[tag].entry.label) for tag in pairs.undone}
    undo_guesses(state, moves)
    changed: list[PlacedEntry] = []
    for tag, other in moves.items():
        guess = state.guesses.get(other) if other is not None else None
        changed.append(
            own[tag] if guess is None else restore_fields(own[tag], guess.found, resolved=guess.resolved)
        )
    return replace_entries(profile, changed)


def _store_aliases(
    profile: LearnerProfile, state: LearnerState, tags: Collection[str], pairs: PairedLabels
) -> MatchedEntries:
    """Remember the aliases, the new ones as guesses unless they are confirmed."""
    for tag, label in pairs.aliases.items():
        state.aliases[tag] = label
        state.wrote.pop(tag, None)
    matched = match_entries(profile, tags, state.aliases, state.separate)
    for tag in pairs.aliases:
        if tag in matched.by_tag:
            state.guesses.setdefault(tag, describe_guess(matched.by_tag[tag]))
    for tag in pairs.confirmed:
        state.guesses.pop(tag, None)
    return matched


def is_own_entry(profile: LearnerProfile, tag: str, placed: PlacedEntry, sources: LabelSources) -> bool:
    """Whether every byte of an entry is tacitd's: the label is the tag, and the description is one that it wrote."""
    entry = placed.entry
    if entry.label != tag or entry.missing_fields:
        return False
    lines = profile.bare_lines(placed.span)
    return any(
        lines == format_entry(tag, text, entry.as_weakness(tag))
        for text in _own_descriptions(tag, entry.first or "", sources)
    )


def _own_descriptions(tag: str, first: str, sources: LabelSources) -> Iterable[str]:
    """The descriptions that tacitd gave a tag at its first row, or that it was given with `record`."""
    rows: list[LedgerRow] = [row for row in sources.ledger.find_rows(first) if tag in row.tags]
    described = {
        intent.descriptions[tag] for intent in sources.intents.values() if tag in intent.descriptions
    }
    for row in rows:
        for text in ("", *sorted(described)):
            yield describe_gap(tag, text, row.problem, row.pattern, row.stamp)[0]


def _is_as_written(state: LearnerState, tag: str, placed: PlacedEntry) -> bool:
    """Whether nobody changed the entry's fields since tacitd wrote it. An edit is first taken in, and healed next."""
    wrote, entry = state.wrote.get(tag), placed.entry
    return wrote is None or (wrote.status, wrote.tested) == (entry.status, entry.tested)


def _labelled(matched: MatchedEntries, guessed: Collection[Span]) -> list[LabelledEntry]:
    """The entries without a tag, as evidence: the first of each label, without those that cannot be read."""
    found: dict[str, LabelledEntry] = {}
    taken = {placed.entry.label for placed in matched.by_tag.values()}
    for placed in matched.others:
        if placed.entry.status is not None and placed.entry.label not in taken and placed.span not in guessed:
            found.setdefault(placed.entry.label, describe_entry(placed.entry))
    return list(found.values())


def _first_of(entries: Iterable[LabelledEntry], label: str) -> str:
    return next((entry.first for entry in entries if entry.label == label), "")


def _shown_at(ledger: Ledger, stamp: str) -> set[str] | None:
    rows = ledger.find_rows(stamp)
    return {tag for row in rows for tag in row.tags} if rows else None


def _note_removed(
    profile: LearnerProfile, state: LearnerState, before: Mapping[str, list[str]], released: list[str]
) -> list[str]:
    """Note tags whose only possible entry a person removed: they are not written either (SPEC L-30)."""
    there = {placed.entry.label for placed in profile.weaknesses}
    asked = [label for labels in before.values() for label in labels]
    for tag in released:
        labels = before.get(tag, [])
        if len(labels) == 1 and asked.count(labels[0]) == 1 and labels[0] not in there:
            state.removed.append(tag)
    return [tag for tag in released if tag not in state.removed]


def _find_doubles(
    profile: LearnerProfile, matched: MatchedEntries, sources: LabelSources
) -> list[PlacedEntry]:
    """The entries of tacitd's whose tag has another entry."""
    return [
        placed
        for tag in matched.by_tag
        for placed in matched.find_others(tag)
        if is_own_entry(profile, tag, placed, sources)
    ]
