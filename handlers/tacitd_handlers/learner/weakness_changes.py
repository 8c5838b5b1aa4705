"""What a person asks for with `forget`, `archive` and `alias` (SPEC L-11, L-27, L-30). None of them changes the ledger."""

from __future__ import annotations

from collections.abc import Callable

from tacitd.errors import UsageError
from tacitd_handlers.learner.learner_state import LearnerState
from tacitd_handlers.learner.ledger_file import parse_ledger
from tacitd_handlers.learner.ledger_replay import replay
from tacitd_handlers.learner.notices import format_command
from tacitd_handlers.learner.practice_record import LearnerStore
from tacitd_handlers.learner.profile_text import (
    LearnerProfile,
    PlacedEntry,
    Splice,
    apply_splices,
    insert_weaknesses,
    parse_profile,
    remove_span,
    restore_sections,
)
from tacitd_handlers.learner.vocabulary import make_slug, tag_of
from tacitd_handlers.learner.weakness_entries import match_entries
from tacitd_handlers.learner.weakness_text import update_entry

Change = Callable[[LearnerProfile, dict[str, PlacedEntry], LearnerState], list[Splice]]
"""Given the profile, its entries by tag and the state, changes the state and returns the splices."""


def forget_weakness(store: LearnerStore, name: str) -> str:
    """Remove the entry of a gap, never write it again, and return its tag. Call with the lock held.

    Raises UsageError if there is no such gap; OSError, FileRefusedError.
    """
    tag = ""

    def forget(_: LearnerProfile, entries: dict[str, PlacedEntry], state: LearnerState) -> list[Splice]:
        nonlocal tag
        tag = _find_tag(state, store, name)
        state.set_waiting(tag, "")
        state.find_tag(tag).removed = True
        return [remove_span(entries[tag].span)] if tag in entries else []

    _change(store, forget)
    return tag


def restore_weakness(store: LearnerStore, name: str) -> str:
    """Restore a removed weakness from the ledger, if there is room, and return its tag. Call with the lock held.

    Raises UsageError if it was not removed; OSError, FileRefusedError.
    """
    store.sync_files(force=True)
    state = store.load_state()
    tag = _find_tag(state, store, name)
    if not state.find_tag(tag).removed:
        removed = ", ".join(sorted(state.removed)) or "none"
        raise UsageError(f"{tag} was not removed", f"removed: {removed}")
    state.find_tag(tag).removed = False
    weakness = replay(parse_ledger(store.read_ledger()).rows, state.tested).tags.get(tag)
    if weakness is not None:
        state.set_waiting(tag, weakness.tested)
    store.save_state(state)
    store.update_profile(is_settled=True)
    return tag


def archive_weakness(store: LearnerStore, name: str) -> str:
    """Move the active entry with this tag or label to `### Resolved`, and return its label. Call with the lock held.

    Rule 6 of seed 000 forbids a promotion without proof, so the status stays. Entries that wait get its room. Raises
    UsageError if there is no such active entry; OSError, FileRefusedError.
    """
    label = ""

    def archive(
        profile: LearnerProfile, entries: dict[str, PlacedEntry], state: LearnerState
    ) -> list[Splice]:
        nonlocal label
        active = [placed for placed in profile.weaknesses if not placed.resolved]
        found = [entries[tag] for tag in (name, tag_of(name)) if tag in entries and not entries[tag].resolved]
        found = found or _find_labels(active, name)
        if len(found) == 0:
            known = "; ".join(placed.entry.label for placed in active[:8]) or "none yet"
            raise UsageError(f"{name!r} is not an active weakness", f"the active ones are: {known}")
        label = found[0].entry.label
        lines = profile.bare_lines(found[0].span)
        return [remove_span(found[0].span), insert_weaknesses(profile, True, [lines])]

    _change(store, archive)
    return label


def join_label(store: LearnerStore, name: str, gap: str) -> tuple[str, str]:
    """Make the entry with this label the entry of a gap, and return both. Call with the lock held.

    An entry of the gap's own is removed, and its stamps and counts go into the other one, which keeps its text. Raises
    UsageError if there is no such entry or gap, or if the gap has another label already; OSError, FileRefusedError.
    """
    joined = "", ""

    def join(profile: LearnerProfile, entries: dict[str, PlacedEntry], state: LearnerState) -> list[Splice]:
        nonlocal joined
        chosen, tag = _find_entry(profile, name), _find_tag(state, store, gap)
        joined = chosen.entry.label, tag
        holder = entries.get(tag)
        if holder is not None and holder.entry.label not in (chosen.entry.label, tag):
            raise UsageError(
                f"{tag} has an entry already: {holder.entry.label}",
                f"`{format_command('alias --remove', holder.entry.label)}` makes it an entry of its own",
            )
        for other in [one for one, record in state.tags.items() if record.label == chosen.entry.label]:
            state.find_tag(other).label = ""
        record = state.find_tag(tag)
        record.label, record.removed, record.description = chosen.entry.label, False, chosen.entry.description
        state.set_waiting(tag, "")
        if holder is None or holder.span == chosen.span:
            return []
        weakness = holder.entry.as_weakness(tag)
        lines = update_entry(profile.bare_lines(chosen.span), weakness)
        return [remove_span(holder.span), Splice(chosen.span, tuple(lines))]

    _change(store, join)
    return joined


def separate_label(store: LearnerStore, name: str) -> tuple[str, str]:
    """Make the entry with this label one of its own, and return the label and the gap that it was. Call with the lock held.

    Raises UsageError if it is not the entry of a gap by an alias; OSError, FileRefusedError.
    """
    parted = "", ""

    def part(profile: LearnerProfile, entries: dict[str, PlacedEntry], state: LearnerState) -> list[Splice]:
        nonlocal parted
        label = _find_entry(profile, name).entry.label
        tag = next((tag for tag, placed in entries.items() if placed.entry.label == label), "")
        if not tag or make_slug(label) == make_slug(tag):
            raise UsageError(f"{label!r} is no alias of a gap", "`tacitd learner alias` lists the aliases")
        state.find_tag(tag).label = state.find_tag(tag).description = ""
        parted = label, tag
        return []

    _change(store, part)
    return parted


def list_aliases(store: LearnerStore) -> list[tuple[str, str]]:
    """The labels that are not their tag, with the tag. Call with the lock held."""
    store.sync_files(force=True)
    state = store.load_state()
    tags = match_entries(parse_profile(store.read_profile() or b""), _list_tags(state, store), state.aliases)
    return [(placed.entry.label, tag) for tag, placed in tags.items() if placed.entry.label != tag]


def _change(store: LearnerStore, change: Change) -> None:
    """Change the state and the profile, and remember the result as tacitd's own."""
    store.sync_files(force=True)
    state = store.load_state()

    def edit(data: bytes | None) -> bytes:
        nonlocal state
        state = store.load_state()
        whole, _ = restore_sections(data or b"")
        profile = parse_profile(whole)
        entries = match_entries(profile, _list_tags(state, store), state.aliases)
        changed = apply_splices(profile, change(profile, entries, state))
        written: dict[str, tuple[str, ...]] = {
            placed.entry.label: placed.entry.dates for placed in parse_profile(changed).weaknesses
        }
        state.written = {label: dates for label, dates in (state.written or {}).items() if label in written}
        store.save_state(state)  # before the profile: what leaves it now is not a person's removal
        state.written = written
        return changed

    store.write_profile(edit)
    store.save_state(state)
    store.sync_files(force=True)


def _list_tags(state: LearnerState, store: LearnerStore) -> dict[str, None]:
    rows = parse_ledger(store.read_ledger()).rows
    return dict.fromkeys([*(tag for row in rows for tag in row.tags), *state.tags])


def _find_tag(state: LearnerState, store: LearnerStore, name: str) -> str:
    """The gap with this tag or label. Raises UsageError."""
    tags = _list_tags(state, store)
    by_label = {label: tag for tag, label in state.aliases.items()}
    for tag in (name, by_label.get(name, ""), tag_of(name)):
        if tag in tags:
            return tag
    same = [tag for tag in tags if make_slug(name) in _list_slugs(tag)]
    if len(same) == 1:
        return same[0]
    raise UsageError(
        f"{name!r} is not a known gap", f"known gaps: {', '.join(sorted(tags)[:8]) or 'none yet'}"
    )


def _find_entry(profile: LearnerProfile, name: str) -> PlacedEntry:
    found = _find_labels(profile.weaknesses, name)
    if found:
        return found[0]
    labels = "; ".join(placed.entry.label for placed in profile.weaknesses[:8]) or "none yet"
    raise UsageError(f"no entry of Known Weaknesses is called {name!r}", f"the labels are: {labels}")


def _find_labels(entries: list[PlacedEntry] | tuple[PlacedEntry, ...], name: str) -> list[PlacedEntry]:
    """The entry with this label, otherwise the only one that is spelled so; [] if there is none."""
    same = [placed for placed in entries if placed.entry.label == name]
    alike = [placed for placed in entries if make_slug(name) in _list_slugs(placed.entry.label)]
    return same[:1] or (alike if len(alike) == 1 else [])


def _list_slugs(label: str) -> set[str]:
    """The spellings of a label that a person may type: all of it, or what follows the kind of gap."""
    return {make_slug(label), make_slug(label.rpartition(":")[2])} - {""}
