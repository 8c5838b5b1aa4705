"""The lessons' section of `tacitd report`: how often each was loaded, and corrected again since. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tacitd.report.sections import Cell, ReportScope, ReportSection, ReportTable
from tacitd_handlers.lessons.evidence import EvidenceLog, LessonUsage, count_loads, judge_lessons
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.lesson_reader import LessonReader
from tacitd_handlers.lessons.project_scopes import (
    ProjectRegistry,
    find_project_scope,
    list_in_force,
    show_scopes,
)


def build_sections(scope: ReportScope) -> Iterator[ReportSection]:
    """Yield the section: active lessons with loads and repeats, the most often corrected first. Raises OSError."""
    store = LessonReader.from_environ(scope.environ)
    folded = store.read_lessons()
    every, active = folded.lessons.values(), folded.list_active()
    named = show_scopes(active, every, ProjectRegistry(store.state_dir).read_all())
    names = {one.id: shown.scope for one, shown in zip(active, named, strict=True)}
    if scope.root is not None:
        active = list_in_force(folded, find_project_scope(scope.environ, scope.root))
    loads = count_loads(store.state_dir)
    usage = judge_lessons(
        active, loads, EvidenceLog(store.state_dir).read(), LessonOrigins(store.state_dir).read_all()
    )
    rows = sorted(usage, key=lambda one: (-(one.again or 0), -(one.loaded or 0), one.lesson.id))
    table = ReportTable(
        "",
        ("lesson", "scope", "since", "loaded", "corrected again", "sessions examined"),
        tuple(_describe_usage(one, names[one.lesson.id]) for one in rows),
        "there is no lesson yet",
    )
    note = "A lesson that was corrected again in a later session is not followed. Without an examined session it is unknown."
    if store.log.bad:
        note += f" {store.log.bad} lines of the lessons' log cannot be read."
    yield ReportSection("Lessons", (table,), note)


def _describe_usage(one: LessonUsage, scope: str) -> tuple[Cell, ...]:
    lesson = one.lesson
    return f"{lesson.id} {lesson.text}", scope, lesson.created, one.loaded, one.again, one.sessions
