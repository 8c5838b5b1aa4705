"""The lessons in the session-start text: the global ones and those of the project, in at most 15 lines."""

from __future__ import annotations

import os

from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_reader import LessonReader
from tacitd_handlers.lessons.load_output import make_row, render_lessons
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.scopes import GLOBAL

LINES = 15


def build_section(request: ContextRequest) -> str:
    """The lessons of the directory's project and the global ones; "" if there are none.

    What the session loads in another file is left out.
    """
    lessons = LessonReader.from_environ(os.environ).read_lessons()
    if not lessons.last:
        return ""
    project = ProjectLessons.from_environ(os.environ, request.cwd)
    in_force = project.list_in_force(lessons.list_active())
    wanted = [one for one in in_force if not _is_given(one, request, project)]
    groups = {
        GLOBAL: [make_row(one) for one in wanted if one.scope == GLOBAL],
        project.names[0]: [make_row(one) for one in wanted if one.scope != GLOBAL],
    }
    # The budget is in characters and `render` counts lines, so try fewer lines until the text fits.
    for lines in range(LINES, 3, -1):
        text, ids = render_lessons(groups, lines)
        if ids and len(text) <= request.budget:
            return text
    return ""


def _is_given(lesson: Lesson, request: ContextRequest, project: ProjectLessons) -> bool:
    """Whether the client loads the lesson word for word, or the line that was made of the same words as its draft (SPEC E-30)."""
    made_of = project.origins.get(int(lesson.id), {}).get("lines", ()) if lesson.is_ours else ()
    return any(request.is_loaded(str(each)) for each in (lesson.text, *made_of))
