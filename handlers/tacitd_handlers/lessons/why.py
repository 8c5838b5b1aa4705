"""Why is there this lesson? What `tacitd why` and `lesson show` know of where one came from and what became of it."""

from __future__ import annotations

from typing import Any

from tacitd.files.log import Log
from tacitd_handlers.lessons.folding import Lesson, number_of
from tacitd_handlers.lessons.origins import Origins
from tacitd_handlers.lessons.store import Store
from tacitd_handlers.lessons.tables import document


def why(store: Store, asked: str) -> list[dict[str, Any]]:
    """Given an id or a lesson's text, return each lesson that is meant: what it says, where it came from (`origin`,
    None where that is not known), and its records, oldest first (`history`). Raises OSError."""
    found = [lesson for lesson in store.folded().lessons.values() if _meant(lesson, asked)]
    if not found:
        return []
    origins, log = Origins(store.beside), list(Log(store.log.path).read())
    return [
        {
            "lesson": document(lesson),
            "origin": origins.of(lesson.id),
            "history": [record for record in log if number_of(record.get("id")) == int(lesson.id)],
        }
        for lesson in found
    ]


def _meant(lesson: Lesson, asked: str) -> bool:
    wanted = asked.strip().removeprefix("- ").casefold()
    if number_of(wanted) is not None:
        return int(lesson.id) == int(wanted)
    return len(wanted) > 3 and wanted in f"{lesson.text} [firm]".casefold()
