"""The operations on lessons, and the records that they append (SPEC E-10 to E-16, E-32).

Each runs on a store, under its lock; the I/O itself is `store.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacitd.errors import TacitdError, UsageError
from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.folding import ACTIVE, DELETED, PROMOTED, Folded, Lesson, number_of
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.store import Change, Store


@dataclass(frozen=True, slots=True)
class Added:
    """A lesson was added. `against` are the active lessons with the same WHEN and the opposite action."""

    lesson: Lesson
    against: tuple[Lesson, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """Nothing was added: this lesson has the same pattern, active or marked wrong."""

    lesson: Lesson


def add(store: Store, parts: Pattern, scope: str, source: str, *, force: bool = False) -> Added | Known:
    """Add a lesson, active at once.

    Returns Known instead if the scope has the pattern already, or if an agent adds a pattern that was marked wrong
    (SPEC E-12, E-32). `source` is `ai` or `user`. `force` skips both checks. Raises OSError, LogDamagedError.
    """
    with store.change() as change:
        if not force and (known := standing(change.folded, parts, scope, source)) is not None:
            return Known(known)
        return Added(write(change, parts, scope, source, store.today), opposites(change.folded, parts, scope))


def standing(folded: Folded, parts: Pattern, scope: str, source: str) -> Lesson | None:
    """The lesson that bars adding this one, or None.

    It has the same pattern in the scope, or, for source `ai`, is marked wrong in any scope.
    """
    wanted = pattern.normal(parts)
    same = (lesson for lesson in folded.lessons.values() if pattern.normal(lesson.parts) == wanted)
    return barring(same, scope, source)


def barring(same: Iterable[Lesson], scope: str, source: str) -> Lesson | None:
    """Of lessons with one pattern, the one that bars adding another; one marked wrong by a person takes precedence."""
    found: Lesson | None = None
    for lesson in same:
        if lesson.status == DELETED and source == "ai":
            return lesson
        if lesson.active and lesson.scope == scope:
            found = found or lesson
    return found


def opposites(folded: Folded, parts: Pattern, scope: str) -> tuple[Lesson, ...]:
    """The active lessons of the scope with the same WHEN and the opposite action."""
    turned = pattern.normal(replace(parts, action="dont" if parts.action == "do" else "do", because="-"))
    return tuple(
        lesson
        for lesson in folded.active()
        if lesson.scope == scope and pattern.normal(replace(lesson.parts, because="-")) == turned
    )


def write(
    change: Change,
    parts: Pattern,
    scope: str,
    source: str,
    today: str,
    extra: Mapping[str, Any] | None = None,
) -> Lesson:
    """Append the record of a new lesson. `today`: the local ISO date. Raises OSError, LogDamagedError."""
    made = Lesson(change.next_id(), scope, source, ACTIVE, today, parts, extra=extra or {})
    change.append(made.record())
    return made


def edit(
    store: Store,
    id: str,
    parts: Pattern | None,
    scope: str | None,
    source: str | None,
    *,
    force: bool = False,
) -> tuple[Lesson, bool]:
    """Change a lesson's text, scope or source. Returns it, and whether it changed.

    Raises UsageError, or TacitdError if it is not active or if another lesson says the same; OSError,
    LogDamagedError.
    """
    in_force(store.folded(), id)
    with store.change() as change:
        old = in_force(change.folded, id)
        new = replace(
            old,
            parts=parts or old.parts,
            scope=scope or old.scope,
            source=source or old.source,
            updated=store.today,
        )
        if (new.parts, new.scope, new.source) == (old.parts, old.scope, old.source):
            return old, False
        twin = standing(change.folded, new.parts, new.scope, "user")
        if twin is not None and twin.id != new.id and not force:
            raise TacitdError(f"lesson {twin.id} already says that", "--force changes it anyway")
        change.append({key: new.record()[key] for key in _TEXT})
        return new, True


def wrong(store: Store, id: str, reason: str) -> tuple[Lesson, bool]:
    """Mark a lesson wrong (SPEC E-15). Returns it, and whether it was active until now.

    Raises UsageError, or TacitdError if it does not exist or was promoted; OSError, LogDamagedError.
    """
    existing(store.folded(), id)  # checked before the directory is created
    with store.change() as change:
        old = existing(change.folded, id)
        if old.status == DELETED:
            return old, False
        in_force(change.folded, id)
        new = replace(old, status=DELETED, updated=store.today, reason=pattern.tidy(reason))
        change.append(_status(new))
        return new, True


def promoted(change: Change, lesson: Lesson, to: str, reason: str, today: str) -> Lesson:
    """Append the record that a lesson is in `to` from now on. `today`: the local ISO date."""
    new = replace(lesson, status=PROMOTED, updated=today, reason=pattern.tidy(reason), promoted_to=to)
    change.append(_status(new))
    return new


def existing(folded: Folded, id: str) -> Lesson:
    """The lesson with this id. Raises UsageError if it is not an id, TacitdError if there is no such lesson."""
    if number_of(id) is None:
        raise UsageError(f"{id!r} is not a lesson's id", "an id is a number: 2 or 002")
    lesson = folded.get(id)
    if lesson is None:
        raise TacitdError(f"there is no lesson {int(id):03d}", "`lesson list --all` lists all of them")
    return lesson


def in_force(folded: Folded, id: str) -> Lesson:
    """The active lesson with this id.

    Raises as `existing` does, and TacitdError with the lesson's status if it is not active.
    """
    lesson = existing(folded, id)
    if lesson.status == PROMOTED:
        where = lesson.promoted_to or "somewhere"
        raise TacitdError(f"lesson {lesson.id} was promoted to {where}", "change it in that file by hand")
    if lesson.status == DELETED:
        raise TacitdError(f"lesson {lesson.id} was marked wrong", "add the correct one: lesson add --firm")
    if not lesson.active:
        raise TacitdError(f"lesson {lesson.id} is not active: its status is {lesson.status}")
    return lesson


_TEXT = ("id", "scope", "from", "status", "updated", "when", "action", "do", "because")
_STATUS = ("id", "scope", "from", "status", "updated", "reason", "promoted_to")


def _status(lesson: Lesson) -> dict[str, Any]:
    """The record of a change of status: without the text, as in the seed's sample."""
    record = lesson.record()
    return {key: record[key] for key in _STATUS if key in record}
