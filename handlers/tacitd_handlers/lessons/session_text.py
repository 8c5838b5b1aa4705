"""What every session gets of the lessons by itself: at its start, for a failed call, and the global ones in the rules file. And what
`tacitd status` says of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import Clock
from tacitd.session_context.context_request import PersonRule
from tacitd.text.wording import count_noun
from tacitd_handlers.lessons.lesson_actions import mark_wrong
from tacitd_handlers.lessons.lesson_log import Lesson, LessonLog
from tacitd_handlers.lessons.lesson_origins import ProjectLessons, read_origins
from tacitd_handlers.lessons.lesson_text import format_load
from tacitd_handlers.lessons.pattern import GLOBAL

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.session_context.context_request import ContextRequest

LINES, LONGEST = 15, 2_000
DELETED_LINE = "the line was deleted in rules/tacitd.md"


def make_text(request: ContextRequest) -> str:
    """The lessons of the directory's project and the global ones, in at most 15 lines; "" if there are none. For a failed call a
    line for each lesson that fits its error, the best first.

    What the session loads in another file is left out. The hook `session_text`. Raises OSError.
    """
    log = LessonLog.from_environ(os.environ)
    active = log.read_lessons().list_active()
    if not active:
        return ""
    project = ProjectLessons(request.cwd, read_origins(request.rows, log))
    in_force = project.list_in_force(active)
    if request.failed is not None:
        from tacitd_handlers.lessons.error_match import list_matches  # a session's start needs none of it

        return "\n".join(one.line for one in list_matches(in_force, request.failed.error))
    wanted = [one for one in in_force if not _is_given(one, request, project)]
    groups = {
        GLOBAL: [one for one in wanted if one.scope == GLOBAL],
        project.name: [one for one in wanted if one.scope != GLOBAL],
    }
    # The budget is in characters and `format_load` counts lines, so fewer lines are tried until the text fits.
    for lines in range(LINES, 3, -1):
        text, shown = format_load(groups, lines)
        if shown and len(text) <= min(request.budget, LONGEST):
            return text
    return ""


def _is_given(lesson: Lesson, request: ContextRequest, project: ProjectLessons) -> bool:
    """Whether the client loads the lesson word for word, or the line that was made of the same words as its draft (SPEC E-30)."""
    lines = project.find_origin(lesson).lines if lesson.is_ours else ()
    return any(request.is_loaded(each) for each in (lesson.text, *lines))


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """The number of lessons of each status, and of the active ones by whom they are from. Raises OSError."""
    log = LessonLog.from_environ(os.environ)
    lessons = log.read_lessons()
    every = [one.status for one in lessons.all.values()] + [one.source for one in lessons.list_active()]
    counts = {kind: every.count(kind) for kind in ("active", "deleted", "promoted", "ai", "user")}
    active, user = counts["active"], counts["user"]
    by_people = f", {user} of them stated by people" if active > 1 else ", stated by a person"
    lines = [f"{active} active{by_people if user else ''}"] if active else []
    if waiting := sum(one.is_waiting for one in lessons.all.values()):
        wait = "waits" if waiting == 1 else "wait"
        lines.append(f"! {count_noun(waiting, 'lesson')} {wait} for your decision: `tacitd review`")
    if lessons.odd:
        lines.append(f"! {log.describe_odd(lessons.odd)}; they are kept: correct or remove them")
    return counts | {"lines": lines}


class LessonRules:
    """The global lessons for the rules file: the part `person-rules`. A rule's id is that of its lesson."""

    title = "Lessons"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._log = LessonLog.from_environ(environ, clock)

    def list_files(self) -> Sequence[Path]:
        """The log of the lessons."""
        return [self._log.path]

    def list_rules(self) -> Sequence[PersonRule]:
        """The active global lessons: those that a person stated first, then the newest. Raises OSError."""
        found = [one for one in self._log.read_lessons().list_active() if one.scope == GLOBAL]
        found.sort(key=lambda one: (not one.is_firm, -int(one.id)))
        return [PersonRule(one.id, one.text, not one.is_ours) for one in found]

    def withdraw_rule(self, id: str) -> None:
        """Mark the lesson wrong, so that it is neither loaded nor drafted again. Raises OSError, FileRefusedError."""
        found = self._log.read_lessons().get(id)
        if found is not None and found.is_active:
            mark_wrong(self._log, id, DELETED_LINE)
