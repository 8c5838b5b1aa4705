"""The lessons that a scope names for `lesson load`: a project's name means one project, never each folder of that name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.project_scopes import find_project_scope
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.shared.project_identity import split_scope


def select_for_load(lessons: Sequence[Lesson], scope: str, env: Mapping[str, str]) -> dict[str, list[Lesson]]:
    """The active lessons that a load prints, by scope: global first and only once (SPEC E-18).

    The name of a project means the one that contains the current directory, otherwise the only one of that name. Raises
    OSError.
    """
    groups = {GLOBAL: [one for one in lessons if one.scope == GLOBAL]}
    if scope == GLOBAL:
        return groups
    try:
        project = find_project_scope(env)
    except FileNotFoundError:  # the current directory was removed
        project = None
    if project is not None and scope in project.here.names:
        groups[scope] = [one for one in lessons if one.scope != GLOBAL and project.holds(one.id, one.scope)]
        return groups
    named = {one.scope for one in lessons if split_scope(one.scope)[0] == scope and split_scope(one.scope)[1]}
    meant = {scope} | (named if len(named) == 1 else set())
    groups[scope] = [one for one in lessons if one.scope in meant]
    return groups
