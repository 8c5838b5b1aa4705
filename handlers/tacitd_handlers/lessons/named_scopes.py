"""The lessons that a scope names for `lesson load`: a project's name means one project, never each folder of that name.

With few imports, because `lesson load` uses it: the project is only looked for if a project of any name has lessons, or if
the scope is the name of a folder above the current one.
"""

# Importing pathlib takes longer than loading the lessons.
# ruff: noqa: PTH109

from __future__ import annotations

import os

from tacitd_handlers.lessons.scopes import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd_handlers.lessons.lesson_index import LessonIndex
    from tacitd_handlers.lessons.load_output import Rows


def rows_of_name(index: LessonIndex, name: str, env: Mapping[str, str]) -> Rows:
    """The rows of a scope, and those of the project that the name means here, by id.

    The name of a project means the one that contains the current directory, otherwise the only one of that name. Raises
    OSError.
    """
    rows = index.rows_of_scope(name)
    projects = index.list_project_scopes() if name != GLOBAL else []
    if name == GLOBAL or not (projects or (rows and _is_folder_above(name))):
        return rows
    from tacitd_handlers.lessons.project_scopes import find_project_scope
    from tacitd_handlers.shared.project_identity import split_scope

    project = find_project_scope(env)
    if name in project.here.names:
        rows = [row for row in rows if project.holds(row[0], name)]
        meant = [scope for scope in projects if scope in project.here.scopes]
    else:
        named = [scope for scope in projects if split_scope(scope)[0] == name]
        meant = named if len(named) == 1 else []
    found = [*rows, *(row for scope in meant for row in index.rows_of_scope(scope))]
    return sorted(found, key=lambda row: int(row[0]))


def _is_folder_above(name: str) -> bool:
    try:
        here = os.getcwd()
    except FileNotFoundError:  # the directory was removed
        return False
    return name in here.lower().replace(" ", "-").split("/")
