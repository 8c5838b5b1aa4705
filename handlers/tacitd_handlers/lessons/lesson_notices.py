"""What a commit of the lessons means to a person: the lessons that were drafted, as they are stored now."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from tacitd.handler import Commit, Notice
from tacitd_handlers.lessons.lesson_reader import LessonReader


def describe_commit(commit: Commit, environ: Mapping[str, str] | None = None) -> Iterator[Notice]:
    """Given a commit, yield a notice for each lesson that it added and that is still active. The hook `Plugin.activity`.

    Raises OSError, LogDamagedError if the lessons cannot be read.
    """
    added = [str(id) for id in commit.data.get("added", ())]
    if not added:
        return
    store = LessonReader.from_environ(os.environ if environ is None else environ)
    lessons = store.read_lessons().lessons
    for lesson in [lessons[id] for id in added if id in lessons and lessons[id].is_active]:
        yield Notice("learned", lesson.text, f"lesson {lesson.id}", item=lesson.id)
