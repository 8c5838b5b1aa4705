"""Withdraw the lessons of lines that a person deleted by hand: the deletion is a decision about the lesson too (SPEC E-32)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacitd_handlers.lessons.lesson_operations import mark_wrong
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.similarity import is_said_by
from tacitd_handlers.lessons.store import LessonStore

REASON = "its line was deleted by hand"


def withdraw_lessons(store: LessonStore, removed: Sequence[str], project: Path) -> tuple[str, ...]:
    """Mark the lessons wrong that were drafted in this project with one of these lines, or that say the same.

    Lessons that somebody stated or changed stay, and so do those of other projects. Returns the ids. Raises OSError,
    LogDamagedError.
    """
    if not removed:
        return ()
    origins = LessonOrigins(store.state_dir).read_all()
    here = ProjectLessons(project, origins)
    found: list[str] = []
    for lesson in store.read_lessons().list_active():
        origin = origins.get(int(lesson.id), {})
        if not lesson.is_ours or not here.is_from_here(lesson):
            continue
        own = set(map(str, origin.get("lines", ())))
        if own & set(removed) or any(is_said_by(lesson.parts, line) for line in removed):
            found.append(lesson.id)
    for id in found:
        mark_wrong(store, id, REASON)
    return tuple(found)
