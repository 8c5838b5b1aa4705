"""Aliases that were guessed from one session: what is remembered about them, and how they are undone (SPEC L-11).

Pure; changes only the state. An entry whose alias is guessed gets the tag's course, and what others write into it is
remembered: if their stamps contradict the guess, the entry gets its own fields again, and nothing of it stays with the
tag. When a guess is wrong is decided in `rules/label_evidence.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tacitd_handlers.learner.formats.profile_md import LearnerProfile, PlacedEntry
from tacitd_handlers.learner.formats.weakness_md import WeaknessEntry
from tacitd_handlers.learner.rules.label_evidence import LabelledEntry
from tacitd_handlers.learner.rules.ledger_fold import LAST
from tacitd_handlers.learner.rules.lifecycle import Weakness, record_clean, record_failure
from tacitd_handlers.learner.rules.vocabulary import LONG
from tacitd_handlers.learner.state import GuessedEntry, LearnerState


def describe_guess(placed: PlacedEntry) -> GuessedEntry:
    """An entry as others wrote it, before it gets the course of a tag that was guessed."""
    course = placed.entry.as_weakness(placed.entry.label)
    course = replace(course, failed_in=course.failed)
    return GuessedEntry(course, course, placed.resolved)


def find_guessed(profile: LearnerProfile, state: LearnerState) -> dict[str, PlacedEntry]:
    """The entries whose alias is a guess, by tag, also those of which a person said that they are not the tag's."""
    by_label = {placed.entry.label: placed for placed in reversed(profile.weaknesses)}
    labels = {tag: state.aliases[tag] for tag in state.guesses}
    return {tag: by_label[label] for tag, label in labels.items() if label in by_label}


def note_bookkeeping(state: LearnerState, guessed: Mapping[str, PlacedEntry]) -> None:
    """Add what others wrote into guessed entries since tacitd did: a failure, a clean session, a status or a place."""
    for tag, placed in guessed.items():
        guess, entry = state.guesses[tag], placed.entry
        course = guess.course
        wrote = state.wrote.get(tag, course)  # an entry that was not in the profile was written anew
        if entry.status is None:
            continue
        if entry.failed and entry.failed != wrote.failed:
            guess.course = record_failure(course, entry.failed, entry.failed)
        elif entry.tested and entry.tested != wrote.tested:
            guess.course = record_clean(course, entry.tested, entry.tested, lambda weakness: False)
        elif entry.status != wrote.status:
            guess.course = replace(course, status=entry.status or "")
        if tag in state.wrote and placed.resolved != state.wrote[tag].resolved:
            guess.resolved = placed.resolved


def describe_entry(entry: WeaknessEntry) -> LabelledEntry:
    """An entry that is no tag's, as evidence."""
    is_clean = bool(entry.clean) and entry.tested != entry.failed
    return LabelledEntry(
        entry.label,
        entry.description,
        entry.first or "",
        entry.failed or "",
        (entry.tested or "") if is_clean else "",
    )


def restore_fields(placed: PlacedEntry, weakness: Weakness, *, resolved: bool) -> PlacedEntry:
    """An entry with these fields, in this place."""
    w = weakness
    entry = replace(
        placed.entry,
        first=w.first,
        tested=w.tested,
        failed=w.failed,
        streak=w.streak,
        clean=w.clean,
        status=w.status,
    )
    return PlacedEntry(entry, placed.span, resolved)


def replace_entries(profile: LearnerProfile, changed: Collection[PlacedEntry]) -> LearnerProfile:
    """The profile with other fields for some entries. Its lines stay."""
    by_span = {placed.span: placed for placed in changed}
    return replace(profile, weaknesses=tuple(by_span.get(one.span, one) for one in profile.weaknesses))


def undo_guesses(state: LearnerState, moves: Mapping[str, str | None]) -> None:
    """Take entries from the tags that were guessed. `moves` has, by such a tag, the tag that gets its entry, None if none does.

    What others said in the entry goes with it. The caller folds the ledger again.
    """
    guesses = {tag: state.guesses.pop(tag) for tag in moves}
    for tag in moves:
        del state.aliases[tag]
        state.wrote.pop(tag, None)
        state.texts.pop(tag, None)
        found_in = state.lists.find_list(tag)
        if found_in is not None:
            found_in.remove(tag)
    state.guesses |= {other: guesses[tag] for tag, other in moves.items() if other is not None}
    # The status with which an entry was taken over is judged again. A promotion that made room was proved by the ledger.
    state.overrides = [
        replace(one, tag=moves[one.tag] or "") if one.tag in moves and one.status != LONG else one
        for one in state.overrides
        if one.tag not in moves or one.nth != LAST
    ]
    state.overrides = [one for one in state.overrides if one.tag]
    for stamp, tested in state.also.items():
        theirs = {tag for tag in tested if tag in moves and stamp > guesses[tag].found.first}
        if theirs:
            others = [moves[tag] for tag in tested if tag in theirs]
            state.also[stamp] = [
                *(tag for tag in tested if tag not in theirs),
                *(tag for tag in others if tag),
            ]
