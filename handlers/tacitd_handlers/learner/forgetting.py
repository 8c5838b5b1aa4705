"""Removing a weakness for good, and restoring it (SPEC L-30). Neither changes the ledger."""

from __future__ import annotations

from tacitd.errors import UsageError
from tacitd_handlers.learner import caps
from tacitd_handlers.learner.resolution import prove
from tacitd_handlers.learner.state import State
from tacitd_handlers.learner.store import Store
from tacitd_handlers.learner.words import slug


def forget(store: Store, name: str) -> str:
    """Remove the entry with this tag or label, never write it again, and return its tag. Call with the lock held.

    Raises UsageError if there is no such weakness, OSError, FileRefusedError.
    """
    store.look(force=True)
    state = store.state()
    tag = _named(state, name)
    if tag in state.removed:
        return tag
    seat = state.seats.of(tag)
    if seat is not None:
        seat.remove(tag)
    state.removed.append(tag)
    store.change(state)
    store.again()
    return tag


def undo(store: Store, name: str) -> str:
    """Restore a removed weakness from the ledger, and return its tag. Call with the lock held.

    Raises UsageError if it was not removed; OSError, FileRefusedError.
    """
    store.look(force=True)
    state = store.state()
    tag = _named(state, name)
    if tag not in state.removed:
        raise UsageError(f"{tag} was not removed", "`tacitd learner check` lists the removed ones")
    state.removed.remove(tag)
    ledger = store.ledger()
    if tag in state.folded.tags:
        caps.seat(
            state.seats,
            state.folded.tags,
            [tag],
            state.removed,
            lambda w: prove(w, lambda stamp: bool(ledger.at(stamp))).holds,
        )
    store.change(state)
    store.again()
    return tag


def _named(state: State, name: str) -> str:
    """The tag that `name` refers to: a tag, a label, or a spelling with the same slug. Raises UsageError."""
    tags = [*state.folded.tags, *state.given, *state.wrote]
    by_label = {wrote.label: tag for tag, wrote in state.wrote.items()}
    if name in tags:
        return name
    if name in by_label:
        return by_label[name]
    same = list(dict.fromkeys(tag for tag in tags if slug(name) in (slug(tag), slug(tag.rpartition(":")[2]))))
    if len(same) == 1:
        return same[0]
    known = ", ".join(sorted(tags)[:8]) or "none yet"
    raise UsageError(f"{name!r} is not a known weakness", f"known: {known}")
