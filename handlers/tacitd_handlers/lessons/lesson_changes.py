"""Changes of lessons, for `tacitd history`: the hook `changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.files.log import Log
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_fold import Lesson, fold_lessons
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.lesson_reader import LessonReader


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each record that changed a lesson in the form of `tacitd.files.change_view.describe_transaction`, oldest first.

    A record has a date only, so its time is that of its origin, otherwise the local date. Raises OSError.
    """
    store = LessonReader.from_environ(environ)
    origins, known, numbers = LessonOrigins(store.state_dir).read_all(), dict[int, Lesson](), dict[str, int]()
    for record in Log(store.log.path).read():
        number = number_of(record.get("id"))
        before = known.get(number) if number is not None else None
        records = [record] if before is None else [before.to_record(), record]
        after = next(iter(fold_lessons(records).lessons.values()), None)
        if number is None or after is None:
            continue
        known[number] = after
        added = after.text if after.is_active and (before is None or before.text != after.text) else ""
        added = after.text if after.is_active and before is not None and not before.is_active else added
        removed = before.text if before is not None and before.is_active and after.text != before.text else ""
        removed = after.text if not after.is_active and (before is None or before.is_active) else removed
        if not added and not removed:
            continue
        numbers[after.id] = numbers.get(after.id, 0) + 1
        origin = origins.get(int(after.id), {}) if before is None else {}
        yield _describe(after, numbers[after.id], origin, added, removed)


def _describe(
    lesson: Lesson, number: int, origin: Mapping[str, Any], added: str, removed: str
) -> dict[str, Any]:
    at = utc_seconds(float(origin["at"])) if origin else lesson.updated or lesson.created
    if number > 1:
        what = "changed" if added and removed else "active again"
    elif lesson.is_firm:
        what = "you added it"
    else:
        what = "drafted from your words" if origin.get("words") else "added with `lesson add`"
    return {
        "id": f"{at[:10].replace('-', '')}-lesson-{lesson.id}.{number}",
        "at": at,
        "root": str(origin.get("project", "")),
        "state": "done",
        "by": "lessons",
        "what": lesson.reason or what,
        "undoes": "",
        "undone_by": "",
        "sessions": [str(origin["session"])] if origin.get("session") else [],
        "prompts": [str(id) for id in origin.get("prompts", ())],
        "facts": [str(words) for words in origin.get("words", ())],
        "lines": [
            {
                "file": lesson_paths.LOG,
                "heading": f"lesson {lesson.id}",
                "added": added,
                "removed": removed,
            }
        ],
        "files": [],
        "undo": f"`tacitd forget {lesson.id}` removes the lesson, `tacitd forget --undo {lesson.id}` brings it back",
    }
