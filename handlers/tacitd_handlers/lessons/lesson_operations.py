"""The operations on lessons, and the records that they append (SPEC E-10 to E-16, E-32).

Each runs on a store, under its lock; the I/O itself is `store.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tacitd.errors import TacitdError, UsageError
from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.lesson_fold import ACTIVE, DELETED, PROMOTED, WAITING, FoldedLessons, Lesson
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.purged_lessons import find_purged_twin
from tacitd_handlers.lessons.store import LessonChange, LessonStore
from tacitd_handlers.shared.quoted_text import shorten_middle

SHOWN = 60
"""Characters of what is not an id that an error shows."""


class AddedLesson(Struct, frozen=True):
    """A lesson was added. `against` are the active lessons with the same WHEN and the opposite action."""

    lesson: Lesson
    opposites: tuple[Lesson, ...] = ()


class KnownLesson(Struct, frozen=True):
    """Nothing was added: this lesson has the same pattern, active or marked wrong."""

    lesson: Lesson


def add_lesson(
    store: LessonStore,
    parts: Pattern,
    scope: str,
    source: str,
    *,
    force: bool = False,
    project: ProjectLessons | None = None,
) -> AddedLesson | KnownLesson:
    """Add a lesson, active at once unless an agent adds what a person has to accept (`find_agent_fault`).

    Returns Known instead if the scope has the pattern already, or if an agent adds a pattern that was marked wrong
    (SPEC E-12, E-32). A lesson of another project than `project` does not count. `source` is `ai` or `user`.
    `force` skips both checks. Raises OSError, LogDamagedError.
    """
    with store.begin_change() as change:
        known = None if force else find_duplicate(change.folded, parts, scope, source, project)
        if known is not None:
            return KnownLesson(known)
        if source == "ai" and (fault := _find_fault(parts)):
            made = Lesson(change.next_id(), scope, source, WAITING, store.today, parts, reason=fault)
            change.append(made.to_record())
            return AddedLesson(made)
        return AddedLesson(
            append_lesson(change, parts, scope, source, store.today),
            find_opposites(change.folded, parts, scope),
        )


def _find_fault(parts: Pattern) -> str:
    from tacitd_handlers.shared.agent_checks import find_agent_fault  # only an addition needs its modules

    return find_agent_fault(pattern.format_pattern(parts))


def find_duplicate(
    folded: FoldedLessons, parts: Pattern, scope: str, source: str, project: ProjectLessons | None = None
) -> Lesson | None:
    """The lesson that bars adding this one, or None.

    It has the same pattern in the scope, or, for source `ai`, is marked wrong in any scope.
    """
    wanted = pattern.normalise_pattern(parts)
    same = (lesson for lesson in folded.lessons.values() if pattern.normalise_pattern(lesson.parts) == wanted)
    purged = find_purged_twin(parts, folded) if source == "ai" else None
    return purged or choose_duplicate(same, scope, source, project)


def choose_duplicate(
    same: Iterable[Lesson], scope: str, source: str, project: ProjectLessons | None = None
) -> Lesson | None:
    """Of lessons with one pattern, the one that bars adding another; one marked wrong by a person takes precedence."""
    found: Lesson | None = None
    for lesson in same:
        if lesson.status == DELETED and source == "ai":
            return lesson
        is_there = lesson.is_active or (lesson.status == WAITING and source == "ai")
        is_of_other = project is not None and project.is_of_other(lesson)
        if is_there and lesson.scope == scope and not is_of_other:
            found = found or lesson
    return found


def find_opposites(folded: FoldedLessons, parts: Pattern, scope: str) -> tuple[Lesson, ...]:
    """The active lessons with the same WHEN and the opposite action: those of the scope, then those of other scopes."""
    turned = pattern.normalise_pattern(
        replace(parts, action="dont" if parts.action == "do" else "do", because="-")
    )
    found = [
        lesson
        for lesson in folded.list_active()
        if pattern.normalise_pattern(replace(lesson.parts, because="-")) == turned
    ]
    return tuple(sorted(found, key=lambda lesson: lesson.scope != scope))


def append_lesson(
    change: LessonChange,
    parts: Pattern,
    scope: str,
    source: str,
    today: str,
    extra: Mapping[str, Any] | None = None,
) -> Lesson:
    """Append the record of a new lesson. `today`: the local ISO date. Raises OSError, LogDamagedError."""
    made = Lesson(change.next_id(), scope, source, ACTIVE, today, parts, extra=extra or {})
    change.append(made.to_record())
    return made


def edit_lesson(
    store: LessonStore,
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
    get_active(store.read_lessons(), id)
    with store.begin_change() as change:
        old = get_active(change.folded, id)
        new = replace(
            old,
            parts=parts or old.parts,
            scope=scope or old.scope,
            source=source or old.source,
            updated=store.today,
        )
        if (new.parts, new.scope, new.source) == (old.parts, old.scope, old.source):
            return old, False
        twin = find_duplicate(change.folded, new.parts, new.scope, "user")
        if twin is not None and twin.id != new.id and not force:
            raise TacitdError(f"lesson {twin.id} already says that", "--force changes it anyway")
        change.append({key: new.to_record()[key] for key in _TEXT})
        return new, True


def mark_wrong(
    store: LessonStore, id: str, reason: str, *, is_promoted_too: bool = False
) -> tuple[Lesson, bool]:
    """Mark a lesson wrong (SPEC E-15). Returns it, and whether it was not until now.

    A promoted one stays in its target's file. Raises UsageError, or
    TacitdError if it does not exist, or was promoted and `is_promoted_too` is not set; OSError, LogDamagedError.
    """
    get_lesson(store.read_lessons(), id)  # checked before the directory is created
    with store.begin_change() as change:
        old = get_lesson(change.folded, id)
        if old.status == DELETED:
            return old, False
        if old.status != WAITING and not (is_promoted_too and old.status == PROMOTED):
            get_active(change.folded, id)
        new = replace(old, status=DELETED, updated=store.today, reason=pattern.tidy_part(reason))
        change.append(_status(new))
        return new, True


def append_promotion(change: LessonChange, lesson: Lesson, to: str, reason: str, today: str) -> Lesson:
    """Append the record that a lesson is in `to` from now on. `today`: the local ISO date."""
    new = replace(lesson, status=PROMOTED, updated=today, reason=pattern.tidy_part(reason), promoted_to=to)
    change.append(_status(new))
    return new


def get_lesson(folded: FoldedLessons, id: str) -> Lesson:
    """The lesson with this id. Raises UsageError if it is not an id, TacitdError if there is no such lesson."""
    if number_of(id) is None:
        raise UsageError(f"{shorten_middle(id, SHOWN)!r} is not a lesson's id", "an id is a number: 2 or 002")
    lesson = folded.get(id)
    if lesson is None:
        raise TacitdError(f"there is no lesson {int(id):03d}", "`lesson list --all` lists all of them")
    return lesson


def get_active(folded: FoldedLessons, id: str) -> Lesson:
    """The active lesson with this id.

    Raises as `existing` does, and TacitdError with the lesson's status if it is not active.
    """
    lesson = get_lesson(folded, id)
    if lesson.status == PROMOTED:
        where = lesson.promoted_to or "somewhere"
        raise TacitdError(f"lesson {lesson.id} was promoted to {where}", "change it in that file by hand")
    if lesson.status == DELETED:
        raise TacitdError(f"lesson {lesson.id} was marked wrong", "add the correct one: lesson add --firm")
    if not lesson.is_active:
        hint = f"a person accepts it: `tacitd accept {lesson.id}`" if lesson.status == WAITING else ""
        raise TacitdError(f"lesson {lesson.id} is not active: its status is {lesson.status}", hint)
    return lesson


_TEXT = ("id", "scope", "from", "status", "updated", "when", "action", "do", "because")
_STATUS = ("id", "scope", "from", "status", "updated", "reason", "promoted_to")


def _status(lesson: Lesson) -> dict[str, Any]:
    """The record of a change of status: without the text, as in the seed's sample."""
    record = lesson.to_record()
    return {key: record[key] for key in _STATUS if key in record}
