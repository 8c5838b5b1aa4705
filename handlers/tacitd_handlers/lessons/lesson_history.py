"""The origin and history of lessons, for `tacitd why`."""

from __future__ import annotations

from typing import Any

from tacitd.files.log import Log
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.lesson_reader import LessonReader


def explain_lessons(store: LessonReader, asked: str) -> list[dict[str, Any]]:
    """The lessons that match an id or a part of a text.

    Each has `lesson` (as for `--json`), `origin` (None if unknown) and `history` (its records, oldest first). Raises
    OSError.
    """
    found = [lesson for lesson in store.read_lessons().lessons.values() if _meant(lesson, asked)]
    if not found:
        return []
    from tacitd_handlers.lessons.render import build_document

    origins, log = LessonOrigins(store.state_dir), list(Log(store.log.path).read())
    return [
        {
            "lesson": build_document(lesson),
            "origin": origins.find_origin(lesson.id),
            "history": [record for record in log if number_of(record.get("id")) == int(lesson.id)],
        }
        for lesson in found
    ]


def _meant(lesson: Lesson, asked: str) -> bool:
    wanted = asked.strip().removeprefix("- ").casefold()
    if number_of(wanted) is not None:
        return int(lesson.id) == int(wanted)
    return len(wanted) > 3 and wanted in f"{lesson.text} [firm]".casefold()
