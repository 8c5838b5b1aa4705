"""What may be done to a lesson, and which records it takes (SPEC E-10 to E-16). On a store, under its lock."""

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
    """A lesson was added; `against` are those in force that say the opposite for the same WHEN."""

    lesson: Lesson
    against: tuple[Lesson, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """Nothing was added: this one says it already, or said it and was marked wrong."""

    lesson: Lesson


def add(store: Store, parts: Pattern, scope: str, source: str, *, force: bool = False) -> Added | Known:
    """Add a lesson, active at once. A pattern that stands in its scope already is not added again, and one that was
    marked wrong only for a person (SPEC E-12, E-32), unless `force` says so."""
    with store.change() as change:
        if not force and (known := standing(change.folded, parts, scope, source)) is not None:
            return Known(known)
        return Added(write(change, parts, scope, source, store.today), opposites(change.folded, parts, scope))


def standing(folded: Folded, parts: Pattern, scope: str, source: str) -> Lesson | None:
    """The lesson because of which this one is not added: the same pattern in its scope, or, for what an agent adds,
    the same pattern marked wrong in any scope."""
    wanted = pattern.normal(parts)
    same = (lesson for lesson in folded.lessons.values() if pattern.normal(lesson.parts) == wanted)
    return barring(same, scope, source)


def barring(same: Iterable[Lesson], scope: str, source: str) -> Lesson | None:
    """Given the lessons with one pattern, return the one that bars another with it; a mark of a person goes first."""
    found: Lesson | None = None
    for lesson in same:
        if lesson.status == DELETED and source == "ai":
            return lesson
        if lesson.active and lesson.scope == scope:
            found = found or lesson
    return found


def opposites(folded: Folded, parts: Pattern, scope: str) -> tuple[Lesson, ...]:
    """Lessons in force for the same WHEN that say the opposite."""
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
    """Append the record of a new lesson."""
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
    """Change a lesson's text, scope or origin. Return it, and whether anything was changed."""
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
            raise TacitdError(f"lesson {twin.id} says that already", "--force changes it all the same")
        change.append({key: new.record()[key] for key in _TEXT})
        return new, True


def wrong(store: Store, id: str, reason: str) -> tuple[Lesson, bool]:
    """Mark a lesson wrong (SPEC E-15). Return it, and whether it was in force until now. Raises TacitdError for one
    that is not there, or was promoted."""
    existing(store.folded(), id)  # before anything is made on the disk
    with store.change() as change:
        old = existing(change.folded, id)
        if old.status == DELETED:
            return old, False
        in_force(change.folded, id)
        new = replace(old, status=DELETED, updated=store.today, reason=pattern.tidy(reason))
        change.append(_status(new))
        return new, True


def promoted(change: Change, lesson: Lesson, to: str, reason: str, today: str) -> Lesson:
    """Append the record that a lesson stands in `to` from now on."""
    new = replace(lesson, status=PROMOTED, updated=today, reason=pattern.tidy(reason), promoted_to=to)
    change.append(_status(new))
    return new


def existing(folded: Folded, id: str) -> Lesson:
    """The lesson with this id. Raises UsageError for what is no id, TacitdError where there is none."""
    if number_of(id) is None:
        raise UsageError(f"{id!r} is no id of a lesson", "an id is a number: 2 or 002")
    lesson = folded.get(id)
    if lesson is None:
        raise TacitdError(f"there is no lesson {int(id):03d}", "lesson list --all")
    return lesson


def in_force(folded: Folded, id: str) -> Lesson:
    """The lesson with this id, if it is active. Raises TacitdError that says what became of it."""
    lesson = existing(folded, id)
    if lesson.status == PROMOTED:
        where = lesson.promoted_to or "somewhere"
        raise TacitdError(f"lesson {lesson.id} was promoted to {where}", "change it in that file, by hand")
    if lesson.status == DELETED:
        raise TacitdError(f"lesson {lesson.id} was marked wrong", "add the right one: lesson add --firm")
    if not lesson.active:
        raise TacitdError(f"lesson {lesson.id} is not in force: its status is {lesson.status}")
    return lesson


_TEXT = ("id", "scope", "from", "status", "updated", "when", "action", "do", "because")
_STATUS = ("id", "scope", "from", "status", "updated", "reason", "promoted_to")


def _status(lesson: Lesson) -> dict[str, Any]:
    """The record of a change of status, as in the seed's sample: without the text."""
    record = lesson.record()
    return {key: record[key] for key in _STATUS if key in record}
