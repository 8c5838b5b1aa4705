"""A person's decisions which entry is which gap's: `tacitd learner alias` (SPEC L-11). Neither changes the ledger."""

from __future__ import annotations

from msgspec import Struct

from tacitd.errors import UsageError
from tacitd_handlers.learner.entry_matching import MatchedEntries, match_entries
from tacitd_handlers.learner.formats.profile_md import LearnerProfile, parse_profile
from tacitd_handlers.learner.rules.vocabulary import make_slug, tag_of
from tacitd_handlers.learner.start_lines import format_command
from tacitd_handlers.learner.state import LearnerState
from tacitd_handlers.learner.store import LearnerStore


class LabelMatch(Struct, frozen=True):
    """A label and a tag, for the list of `tacitd learner alias`."""

    label: str
    tag: str
    sure: bool
    """Whether the entry is the tag's. False: it may be, and the person is asked."""
    guessed: bool = False
    """Whether it was found from one session, and later stamps may contradict it."""


class _Known(Struct, frozen=True):
    """The files after a sync."""

    state: LearnerState
    profile: LearnerProfile
    matched: MatchedEntries


def list_aliases(store: LearnerStore) -> list[LabelMatch]:
    """The labels that are not their tag, and those that are unclear. Call with the lock held."""
    known = _sync(store)
    sure = [
        LabelMatch(placed.entry.label, tag, True, tag in known.state.guesses)
        for tag, placed in known.matched.by_tag.items()
        if placed.entry.label != tag
    ]
    return [*sure, *(LabelMatch(label, tag, False) for label, tag in known.state.asked)]


def join_label(store: LearnerStore, name: str, gap: str) -> LabelMatch:
    """Make the entry with this label the entry of a gap. Call with the lock held.

    Raises UsageError if there is no such entry or gap, or if the gap has another entry; OSError, FileRefusedError.
    """
    known = _sync(store)
    label, tag, state = _find_label(known, name), _find_tag(known.state, gap), known.state
    holder = known.matched.by_tag.get(tag)
    if holder is not None and holder.entry.label not in (label, tag):
        raise UsageError(
            f"{tag} has an entry already: {holder.entry.label}",
            f"`{format_command('alias --remove', holder.entry.label)}` makes it an entry of its own",
        )
    for other in [one for one, placed in known.matched.by_tag.items() if placed.entry.label == label]:
        if other != tag:
            _separate(state, label, other)
    state.separate = [pair for pair in state.separate if pair != (label, tag)]
    state.removed = [one for one in state.removed if one != tag]
    if holder is None or holder.entry.label != label:
        state.wrote.pop(tag, None)
    state.aliases[tag] = label
    state.guesses.pop(tag, None)
    _save(store, state)
    return LabelMatch(label, tag, True)


def separate_label(store: LearnerStore, name: str, gap: str = "") -> list[LabelMatch]:
    """Make the entry with this label one of its own, and return the gaps that it was, or may have been.

    `gap`: only this one, "" for all. Call with the lock held. Raises UsageError if there is no such entry or gap;
    OSError, FileRefusedError.
    """
    known = _sync(store)
    label, state = _find_label(known, name), known.state
    tags = [tag for tag, placed in known.matched.by_tag.items() if placed.entry.label == label]
    tags += [tag for one, tag in state.asked if one == label]
    if gap:
        tags = [_find_tag(state, gap)]
    if not tags:
        raise UsageError(f"{label!r} is not the entry of a gap", "`tacitd learner alias` lists the aliases")
    for tag in tags:
        _separate(state, label, tag)
    _save(store, state)
    return [LabelMatch(label, tag, False) for tag in tags]


def _sync(store: LearnerStore) -> _Known:
    store.sync_files(force=True)
    state, data = store.load_state(), store.read_profile()
    profile = parse_profile(data or b"")
    tags = dict.fromkeys((*state.folded.tags, *state.given))
    return _Known(state, profile, match_entries(profile, tags, state.aliases, state.separate))


def _save(store: LearnerStore, state: LearnerState) -> None:
    """Save the state, and bring the profile in line with it."""
    state.profile = 0  # not what was written, so that the lists are taken from the profile again
    store.save_state(state)
    store.sync_files(force=True)


def _separate(state: LearnerState, label: str, tag: str) -> None:
    """The entry is not this tag's, which gets one of its own."""
    if (label, tag) not in state.separate:
        state.separate.append((label, tag))
    if state.aliases.get(tag) == label:
        if tag in state.guesses:
            return  # the next sync undoes the guess
        del state.aliases[tag]
    wrote = state.wrote.get(tag)
    if wrote is not None and wrote.label == label:
        del state.wrote[tag]  # otherwise the entry would count as removed
        state.texts.pop(tag, None)
    found_in = state.lists.find_list(tag)
    if found_in is not None:
        found_in.remove(tag)
    state.held.setdefault(tag, [])  # released by the next sync


def _find_label(known: _Known, name: str) -> str:
    labels = list(dict.fromkeys(placed.entry.label for placed in known.profile.weaknesses))
    if name in labels:
        return name
    same = [label for label in labels if make_slug(label) and make_slug(label) == make_slug(name)]
    if len(same) == 1:
        return same[0]
    listed = "; ".join(labels[:8]) or "none yet"
    raise UsageError(f"no entry of Known Weaknesses is called {name!r}", f"the labels are: {listed}")


def _find_tag(state: LearnerState, name: str) -> str:
    tags = [*state.folded.tags, *state.given]
    for one in (name, tag_of(name)):
        if one in tags:
            return one
    known = ", ".join(sorted(tags)[:8]) or "none yet"
    raise UsageError(f"no row of the ledger has the gap {name!r}", f"known gaps: {known}")
