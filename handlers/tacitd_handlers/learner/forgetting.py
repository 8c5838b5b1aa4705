"""Removing a weakness for good, and restoring it (SPEC L-30). Neither changes the ledger."""

from __future__ import annotations

from tacitd.errors import UsageError
from tacitd_handlers.learner.rules import capacity
from tacitd_handlers.learner.rules.resolution import prove_resolution
from tacitd_handlers.learner.rules.vocabulary import make_slug
from tacitd_handlers.learner.state import LearnerState
from tacitd_handlers.learner.store import LearnerStore


def forget_weakness(store: LearnerStore, name: str) -> str:
    """Remove the entry with this tag or label, never write it again, and return its tag. Call with the lock held.

    Raises UsageError if there is no such weakness, OSError, FileRefusedError.
    """
    store.sync_files(force=True)
    state = store.load_state()
    tag = _named(state, name)
    if tag in state.removed:
        return tag
    found_in = state.lists.find_list(tag)
    if found_in is not None:
        found_in.remove(tag)
    state.removed.append(tag)
    store.save_state(state)
    store.update_profile()
    return tag


def restore_weakness(store: LearnerStore, name: str) -> str:
    """Restore a removed weakness from the ledger, and return its tag. Call with the lock held.

    Raises UsageError if it was not removed; OSError, FileRefusedError.
    """
    store.sync_files(force=True)
    state = store.load_state()
    tag = _named(state, name)
    if tag not in state.removed:
        raise UsageError(f"{tag} was not removed", "`tacitd learner check` lists the removed ones")
    state.removed.remove(tag)
    ledger = store.read_ledger()
    if tag in state.folded.tags:
        capacity.move_tags(
            state.lists,
            state.folded.tags,
            [tag],
            state.removed,
            lambda w: prove_resolution(w, lambda stamp: bool(ledger.find_rows(stamp))).proved,
        )
    store.save_state(state)
    store.update_profile()
    return tag


def _named(state: LearnerState, name: str) -> str:
    """The tag that `name` refers to: a tag, a label, or a spelling with the same slug. Raises UsageError."""
    tags = [*state.folded.tags, *state.given, *state.wrote]
    by_label = {label: tag for tag, label in state.aliases.items()}
    by_label |= {wrote.label: tag for tag, wrote in state.wrote.items()}
    if name in tags:
        return name
    if name in by_label:
        return by_label[name]
    same = list(
        dict.fromkeys(
            tag for tag in tags if make_slug(name) in (make_slug(tag), make_slug(tag.rpartition(":")[2]))
        )
    )
    if len(same) == 1:
        return same[0]
    known = ", ".join(sorted(tags)[:8]) or "none yet"
    raise UsageError(f"{name!r} is not a known weakness", f"known: {known}")
