"""What is done with lessons: add, mark wrong, confirm, restore; and which lesson bars or contradicts another (SPEC E-10 to E-15, E-32).

Each runs on a log, under its lock. promotion.py promotes one, lesson_drafts.py adds those of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tacitd.errors import TacitdError, UsageError
from tacitd.text.wording import shorten_line
from tacitd_handlers.lessons.lesson_log import (
    ACTIVE,
    DELETED,
    PROMOTED,
    WAITING,
    Lesson,
    LessonLog,
    Lessons,
)
from tacitd_handlers.lessons.lesson_origins import ProjectLessons
from tacitd_handlers.lessons.pattern import GLOBAL, Pattern, format_pattern


class Addition(NamedTuple):
    lesson: Lesson
    """The new one, or the one that bars it: it says the same, or a person marked it wrong."""
    is_new: bool
    opposites: Sequence[Lesson] = ()
    """Active lessons with the same WHEN and the opposite action."""


def add_lesson(
    log: LessonLog,
    parts: Pattern,
    scope: str,
    source: str,
    *,
    force: bool = False,
    by_hand: bool = False,
    project: ProjectLessons | None = None,
) -> Addition:
    """Add a lesson, active at once unless an agent adds what a person has to accept (`find_agent_fault`). `by_hand`: a person types it
    in a terminal of their own.

    Not if the scope has the pattern already, or if an agent adds what was marked wrong (SPEC E-12, E-32); `force` adds it
    also then. A lesson of another project than `project` does not count. `source` is `ai` or `user`. Raises TacitdError
    if it has a secret, OSError, FileRefusedError.
    """
    from tacitd_handlers.shared.fact_text import find_agent_fault  # only an addition needs its modules

    refuse_secret(format_pattern(parts))
    fault = find_agent_fault(format_pattern(parts)) if source == "ai" and not by_hand else ""
    with log.begin_change() as change:
        lessons = change.lessons
        known = None if force else find_same(lessons, parts, scope, project, by_person=source == "user")
        if known is not None:
            return Addition(known, is_new=False)
        status = DELETED if fault else ACTIVE
        made = Lesson(change.next_id(), scope, source, status, log.today, parts, reason=fault)
        opposites = find_opposites(lessons.list_active(), parts, scope)
        return Addition(change.append(made), is_new=True, opposites=opposites)


def find_same(
    lessons: Lessons,
    parts: Pattern,
    scope: str,
    project: ProjectLessons | None,
    *,
    by_person: bool = False,
    is_draft: bool = False,
) -> Lesson | None:
    """The lesson that bars adding this one, or None.

    It was marked wrong by a person in any scope, unless a person adds it; or it has the same pattern in the scope. For a draft a
    global or promoted lesson counts too, for whatever reason it is. A lesson of another project than `project` does not count.
    """
    digest = digest_meaning(parts)
    for one in [] if by_person else lessons.all.values():
        if one.state == DELETED and (says_same(one.parts, parts) or digest in one.digests):
            return one
    for one in lessons.all.values():
        is_near = one.scope == scope or (is_draft and GLOBAL in (one.scope, scope))
        is_there = one.is_active or one.state == (PROMOTED if is_draft else "" if by_person else WAITING)
        is_ours = project is None or not project.is_of_other(one)
        if is_near and is_there and is_ours and says_same(one.parts, parts, with_reason=not is_draft):
            return one
    return None


def says_same(one: Pattern, other: Pattern, *, with_reason: bool = False) -> bool:
    """Whether two lessons have the same case and action, and reason, but for differences of spelling."""
    is_same = one.action == other.action and _key(one) == _key(other)
    return is_same and (not with_reason or _fold(one.because) == _fold(other.because))


def digest_meaning(parts: Pattern) -> str:
    """Identifies case and action, without differences of spelling: 32 hexadecimal digits."""
    from tacitd.text.hashes import sha256

    return sha256(_key(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _fold(text: str) -> str:
    from tacitd_handlers.shared.equality import normalise_text

    return normalise_text(text) or text.casefold()


def find_opposites(lessons: Iterable[Lesson], parts: Pattern, scope: str) -> list[Lesson]:
    """Of active lessons, those with the same WHEN and the opposite action: those of the scope, then those of other scopes."""
    turned = _turn(parts)
    return sorted(
        (one for one in lessons if says_same(one.parts, turned)), key=lambda one: one.scope != scope
    )


def list_contradictions(lessons: Sequence[Lesson]) -> dict[str, Lesson]:
    """Given active lessons, return for each that contradicts another one the first such lesson, by id."""
    if len({one.parts.action for one in lessons}) < 2:  # the usual case, without the comparison of texts
        return {}
    first = {_key(one.parts): one for one in reversed(lessons)}
    found = {one.id: first.get(_key(_turn(one.parts))) for one in lessons}
    return {id: other for id, other in found.items() if other is not None}


def _turn(parts: Pattern) -> Pattern:
    return parts._replace(action="dont" if parts.action == "do" else "do")


def _key(parts: Pattern) -> str:
    return "\0".join((_fold(parts.when), parts.action, _fold(parts.do)))


def mark_wrong(log: LessonLog, id: str, reason: str, *, is_promoted_too: bool = False) -> tuple[Lesson, bool]:
    """Mark a lesson wrong (SPEC E-15). Returns it, and whether it was not until now.

    A promoted one stays in its target's file. Raises TacitdError if it does not exist, if the reason has a secret, or if it was
    promoted and `is_promoted_too` is not set; OSError, FileRefusedError.
    """
    refuse_secret(reason)

    def mark(old: Lesson) -> Lesson:
        if old.state == DELETED:
            return old
        if not (is_promoted_too and old.status == PROMOTED):
            require_state(old, ACTIVE, WAITING)
        return old._replace(status=DELETED, updated=log.today, reason=" ".join(reason.split()))

    return change_lesson(log, id, mark)


def confirm_lesson(log: LessonLog, id: str, parts: Pattern | None = None) -> Lesson:
    """Make a lesson that is active or waits the person's own, with their words if there are any. Raises as `mark_wrong` does."""
    if parts is not None:
        refuse_secret(format_pattern(parts))

    def confirm(old: Lesson) -> Lesson:
        require_state(old, ACTIVE, WAITING)
        new = old._replace(status=ACTIVE, source="user", parts=parts or old.parts, reason="")
        return old if new == old else new._replace(updated=log.today)

    return change_lesson(log, id, confirm)[0]


def restore_lesson(log: LessonLog, id: str) -> Lesson:
    """Make a lesson active or promoted again that was marked wrong. Raises UsageError if it was not.

    The words of a purged one are gone, so only its digests are removed: it may be drafted again.
    """

    def restore(old: Lesson) -> Lesson:
        if old.state != DELETED:
            raise UsageError(f"lesson {old.id} is not marked wrong")
        status = DELETED if old.is_purged else PROMOTED if old.promoted_to else ACTIVE
        return old._replace(status=status, updated=log.today, reason="")

    return change_lesson(log, id, restore)[0]


def change_lesson(log: LessonLog, id: str, change: Callable[[Lesson], Lesson]) -> tuple[Lesson, bool]:
    """Append what `change` makes of a lesson. Returns it, and whether it is another one. Raises TacitdError if there is none."""
    get_lesson(log.read_lessons(), id)  # checked before anything is made
    with log.begin_change() as begun:
        old = get_lesson(begun.lessons, id)
        new = change(old)
        return (old, False) if new == old else (begun.append(new), True)


def refuse_secret(text: str) -> None:
    from tacitd.text.redact import has_secret

    if has_secret(text):
        raise TacitdError("it has what looks like a secret, and every session would read it", "leave it out")


def get_lesson(lessons: Lessons, id: str) -> Lesson:
    lesson = lessons.get(id)
    if lesson is None:
        raise TacitdError(
            f"there is no lesson {shorten_line(id, 60)!r}", "`lesson list --all` lists all of them"
        )
    return lesson


def require_state(lesson: Lesson, *states: str) -> None:
    """Raises TacitdError if a lesson is in none of these states, with the one that it is in."""
    if lesson.state not in states:
        hints = {
            WAITING: f"a person accepts it: `tacitd accept {lesson.id}`",
            PROMOTED: f"change it in {lesson.promoted_to} by hand",
            DELETED: "add the correct one: lesson add --firm",
        }
        raise TacitdError(f"lesson {lesson.id} is {lesson.state}", hints.get(lesson.state, ""))
