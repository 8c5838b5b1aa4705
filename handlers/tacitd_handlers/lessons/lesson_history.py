"""The origin and the changes of lessons, for `tacitd why`, `tacitd history` and the daemon's log: the hooks `explain`, `changes`
and `activity`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.handler import Commit, Notice
from tacitd_handlers.lessons.lesson_log import LOG, Lesson, LessonLog, number_of, trace_log
from tacitd_handlers.lessons.lesson_origins import Origin, read_origins


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """The lessons that match an id or a part of a lesson's text, with their origins. Raises OSError."""
    log = LessonLog.from_environ(os.environ)
    found = [one for one in log.read_lessons().all.values() if _is_meant(one, asked)]
    origins = read_origins(log) if found else {}
    return [_give_reason(one, origins.get(int(one.id), Origin())) for one in found]


def _is_meant(lesson: Lesson, asked: str) -> bool:
    wanted = asked.strip().removeprefix("- ").casefold()
    if (number := number_of(wanted)) is not None:
        return int(lesson.id) == number
    return len(wanted) > 3 and wanted in f"{lesson.text} [firm]".casefold()


def _give_reason(lesson: Lesson, origin: Origin) -> dict[str, Any]:
    where = f"lesson {lesson.id} ({lesson.scope}, {'waiting' if lesson.is_waiting else lesson.status})"
    if not lesson.is_firm and not origin.words:
        where += ", added by an agent: you did not type it"
    return {
        "id": lesson.id,
        "what": lesson.text,
        "where": where,
        "at": utc_seconds(origin.at) if origin.at else lesson.created,
        "sessions": [origin.session] if origin.session else [],
        "words": list(origin.words),
    }


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each record that changed a lesson in the form of `tacitd.files.change_view.describe_transaction`, oldest first.

    A record has a date only, so its time is that of its origin, otherwise the local date. Raises OSError.
    """
    log = LessonLog.from_environ(environ)
    origins, numbers = read_origins(log), dict[str, int]()
    for one in trace_log(log.read()):
        after = one.after
        if after is None:
            continue
        removed = one.before.text if one.before is not None and one.before.is_active else ""
        added = after.text if after.is_active else ""
        if added == removed:
            continue
        numbers[after.id] = numbers.get(after.id, 0) + 1
        origin = origins.get(int(after.id), Origin()) if one.before is None else Origin()
        yield _describe(after, numbers[after.id], origin, added, removed)


def _describe(lesson: Lesson, number: int, origin: Origin, added: str, removed: str) -> dict[str, Any]:
    at = utc_seconds(origin.at) if origin.at else lesson.updated or lesson.created
    if number > 1:
        what = "changed" if added and removed else "active again"
    elif lesson.is_firm:
        what = "you added it"
    else:
        what = "drafted from your words" if origin.words else "added with `lesson add`"
    line = {"file": LOG, "heading": f"lesson {lesson.id}", "added": added, "removed": removed}
    return {
        "id": f"{at[:10].replace('-', '')}-lesson-{lesson.id}.{number}",
        "at": at,
        "root": origin.project,
        "state": "done",
        "by": "lessons",
        "what": lesson.reason or what,
        "undoes": "",
        "undone_by": "",
        "sessions": [origin.session] if origin.session else [],
        "prompts": list(origin.prompts),
        "facts": list(origin.words),
        "lines": [line],
        "files": [],
        "undo": f"`tacitd forget {lesson.id}` removes the lesson, `tacitd forget --undo {lesson.id}` brings it back",
    }


def describe_commit(commit: Commit, environ: Mapping[str, str] | None = None) -> Iterator[Notice]:
    """Given a commit, yield a notice for each lesson that it added and that is still active. Raises OSError."""
    added = [str(id) for id in commit.data.get("added", ())]
    if not added:
        return
    lessons = LessonLog.from_environ(os.environ if environ is None else environ).read_lessons()
    for lesson in [lessons.all[id] for id in added if id in lessons.all and lessons.all[id].is_active]:
        yield Notice("learned", lesson.text, f"lesson {lesson.id}", item=lesson.id)
