"""The lessons in the session-start text: the global ones and those of the project, in at most 15 lines."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tacitd.files.git import find_repository
from tacitd_handlers.lessons import lesson_paths, load_counts
from tacitd_handlers.lessons.lesson_index import LessonIndex
from tacitd_handlers.lessons.load_output import render_lessons
from tacitd_handlers.lessons.scopes import scope_of_name
from tacitd_handlers.lessons.selection import LoadRequest, select_rows

LINES = 15


def build_section(cwd: Path, budget: int) -> str:
    """The text for a working directory, at most `budget` characters; "" if there is no lesson for it."""
    index = _index()
    wanted = select_rows(index, LoadRequest(scope_of(cwd))) if index is not None else {}
    if not any(wanted.values()):
        return ""
    # The budget is in characters and `render` counts lines, so try fewer lines until the text fits.
    for lines in range(LINES, 3, -1):
        text, ids = render_lessons(wanted, lines)
        if ids and len(text) <= budget:
            load_counts.record_load(lesson_paths.hits_path(os.environ), time.time(), ids, "context")
            return text
    return ""


def scope_of(cwd: Path) -> str:
    """The scope of the project that contains a directory: its top folder's name, normalised.

    "" if nothing of the name remains.
    """
    here = next((path for path in (cwd, *cwd.parents) if path.is_dir()), cwd)
    found = find_repository(here.resolve())
    return scope_of_name((found.top if found is not None else cwd).name)


def _index() -> LessonIndex | None:
    from tacitd_handlers.lessons import lesson_index

    found = lesson_index.read_index(lesson_paths.log_path(os.environ), lesson_paths.index_path(os.environ))
    if found is not None or lesson_index.stat_log(lesson_paths.log_path(os.environ)) is None:
        return found
    from tacitd_handlers.lessons.store import LessonStore

    return LessonStore.from_environ(os.environ).load_index()
