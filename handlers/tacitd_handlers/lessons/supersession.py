"""Which lessons a new one takes the place of: those that `OVER: 006` names, and those that it contradicts (SPEC E-12, E-30).

Only a lesson of ours gives way, and only to one that holds wherever it holds. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from tacitd_handlers.lessons.lesson_fold import SUPERSEDED, FoldedLessons, Lesson
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.similarity import is_opposite

Holds = Callable[[Lesson], bool]
"""Whether a lesson holds in the project of the synthesis."""


class RefusedOver(Struct, frozen=True):
    """An `OVER:` that is not followed."""

    id: str
    reason: str


def judge_overs(
    ids: Iterable[str], folded: FoldedLessons, holds: Holds, by: str = ""
) -> tuple[list[Lesson], list[RefusedOver]]:
    """Given the ids of an answer's OVER lines, return the lessons to supersede and the ids that are refused.

    `by`: the new lesson's id, "" if there is none. A lesson that is superseded already is in neither list, so that a
    repeated message changes and counts nothing.
    """
    found: list[Lesson] = []
    refused: list[RefusedOver] = []
    for id in dict.fromkeys(ids):
        lesson = folded.get(id)
        if lesson is None:
            refused.append(RefusedOver(id, "there is no such lesson"))
        elif not holds(lesson):
            refused.append(RefusedOver(lesson.id, "it is a lesson of another project"))
        elif lesson.is_active and not lesson.is_ours:
            refused.append(RefusedOver(lesson.id, "a person stated or changed it"))
        elif lesson.is_active and lesson.id != by:
            found.append(lesson)
        elif not lesson.is_active and lesson.status != SUPERSEDED:
            refused.append(RefusedOver(lesson.id, f"it is {lesson.status}"))
    return found, refused


def find_contradicted(parts: Pattern, scope: str, folded: FoldedLessons, holds: Holds) -> list[Lesson]:
    """The lessons of ours that hold in the project and that a new lesson contradicts and covers.

    A lesson for a tool or a project does not cover a global one: that one still holds elsewhere.
    """
    return [
        one
        for one in folded.list_active()
        if one.is_ours and holds(one) and scope in (one.scope, GLOBAL) and is_opposite(parts, one.parts)
    ]
