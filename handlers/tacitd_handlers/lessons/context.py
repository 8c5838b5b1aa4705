"""The lessons in the session-start text: the global ones and those of the project, in at most 15 lines."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tacitd.errors import LogDamagedError
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_index import LessonIndex
from tacitd_handlers.lessons.load_output import FIRM, Rows, render_lessons
from tacitd_handlers.lessons.project_scopes import ProjectRegistry, ProjectScope, find_project_scope
from tacitd_handlers.lessons.scopes import GLOBAL

LINES = 15


def build_section(request: ContextRequest) -> str:
    """The lessons of the directory's project and the global ones; "" if there are none.

    What the session loads in another file is left out.
    """
    index = _index()
    if index is None:
        return ""
    project = find_project_scope(os.environ, request.cwd)
    _note_project(project)
    found = select_for_project(index, project)
    wanted = {
        scope: [row for row in rows if not _is_given(row, request, project)] for scope, rows in found.items()
    }
    if not any(wanted.values()):
        return ""
    # The budget is in characters and `render` counts lines, so try fewer lines until the text fits.
    for lines in range(LINES, 3, -1):
        text, ids = render_lessons(wanted, lines)
        if ids and len(text) <= request.budget:
            return text
    return ""


def _is_given(row: tuple[str, str], request: ContextRequest, project: ProjectScope) -> bool:
    """Whether the client loads the lesson word for word, or the line that was made of the same facts as its draft (SPEC E-30)."""
    id, line = row
    made_of = () if line.endswith(FIRM) else project.origins.get(int(id), {}).get("lines", ())
    return any(request.is_loaded(str(each)) for each in (line.removesuffix(FIRM), *made_of))


def select_for_project(index: LessonIndex, project: ProjectScope) -> dict[str, Rows]:
    """The rows that hold in a project: the global ones, then its own under its name, by id."""
    own = [(scope, row) for scope in project.list_scopes() for row in index.rows_of_scope(scope)]
    rows = sorted((row for scope, row in own if project.holds(row[0], scope)), key=lambda row: int(row[0]))
    name = project.name or project.here.scopes[0]
    return {GLOBAL: index.rows_of_scope(GLOBAL), **({name: rows} if rows else {})}


def _note_project(project: ProjectScope) -> None:
    beside = Path(lesson_paths.lessons_state_dir(os.environ))
    with suppress(OSError, LogDamagedError):  # only the names of scopes depend on it
        ProjectRegistry(beside).add_if_new(project.here)


def _index() -> LessonIndex | None:
    from tacitd_handlers.lessons import lesson_index

    found = lesson_index.read_index(lesson_paths.log_path(os.environ), lesson_paths.index_path(os.environ))
    if found is not None or lesson_index.stat_log(lesson_paths.log_path(os.environ)) is None:
        return found
    from tacitd_handlers.lessons.store import LessonStore

    return LessonStore.from_environ(os.environ).load_index()
