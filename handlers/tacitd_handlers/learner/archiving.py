"""`tacitd learner archive`: an active entry moves to `### Resolved`, as a person would move it (SPEC L-27).

Rule 6 of seed 000 forbids a promotion without proof, so the status stays. The entry comes back when its gap is
observed again.
"""

from __future__ import annotations

from tacitd.errors import UsageError
from tacitd_handlers.learner.entry_matching import match_entries
from tacitd_handlers.learner.formats.profile_md import (
    LearnerProfile,
    PlacedEntry,
    apply_splices,
    insert_weaknesses,
    parse_profile,
    remove_span,
    restore_sections,
)
from tacitd_handlers.learner.rules.vocabulary import make_slug, tag_of
from tacitd_handlers.learner.state import LearnerState
from tacitd_handlers.learner.store import LearnerStore


def archive_weakness(store: LearnerStore, name: str) -> str:
    """Move the active entry with this tag or label to `### Resolved`, and return its label. Call with the lock held.

    Then entries that wait get its room. Raises UsageError if there is no such active entry; OSError,
    FileRefusedError.
    """
    store.sync_files(force=True)
    state = store.load_state()
    moved: list[str] = []

    def move(data: bytes | None) -> bytes:
        whole, _ = restore_sections(data or b"")
        profile = parse_profile(whole)
        placed = _find_active(profile, state, name)
        moved[:] = [placed.entry.label]
        lines = profile.bare_lines(placed.span)
        return apply_splices(profile, [remove_span(placed.span), insert_weaknesses(profile, True, [lines])])

    store.edit_profile(move)
    store.sync_files(force=True)
    return moved[0]


def _find_active(profile: LearnerProfile, state: LearnerState, name: str) -> PlacedEntry:
    active = [placed for placed in profile.weaknesses if not placed.resolved]
    tags = match_entries(profile, state.folded.tags, state.aliases, state.separate).by_tag
    for tag in (name, tag_of(name)):
        if tag in tags and not tags[tag].resolved:
            return tags[tag]
    same = [placed for placed in active if placed.entry.label == name]
    same = same or [placed for placed in active if make_slug(name) in _slugs_of(placed.entry.label)]
    if len(same) == 1:
        return same[0]
    known = "; ".join(placed.entry.label for placed in active[:8]) or "none yet"
    raise UsageError(f"{name!r} is not an active weakness", f"the active ones are: {known}")


def _slugs_of(label: str) -> set[str]:
    """The spellings of a label that a person may type: all of it, or what follows the kind of gap."""
    return {make_slug(label), make_slug(label.rpartition(":")[2])} - {""}
