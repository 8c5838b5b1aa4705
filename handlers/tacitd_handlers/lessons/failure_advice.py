"""The lessons that fit the error of a failed call of a tool (SPEC E-31): the hook `failure_advice`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tacitd.session_context.context_request import FailedCall
from tacitd_handlers.lessons.error_match import score_match
from tacitd_handlers.lessons.lesson_reader import LessonReader
from tacitd_handlers.lessons.load_output import line_of
from tacitd_handlers.lessons.project_lessons import ProjectLessons


def find_lessons(call: FailedCall) -> Iterator[tuple[str, str]]:
    """Yield id and line of each global lesson and lesson of the project that matches, best first. Raises OSError."""
    project = ProjectLessons.from_environ(os.environ, call.cwd)
    lessons = LessonReader.from_environ(os.environ).read_lessons().list_active()
    scored = [(score_match(one.parts.when, call.error), one) for one in project.list_in_force(lessons)]
    for _, one in sorted(((s, one) for s, one in scored if s), key=lambda pair: (-pair[0], pair[1].id)):
        yield one.id, line_of(one.text, firm=one.is_firm)
