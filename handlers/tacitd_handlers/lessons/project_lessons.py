"""Which lessons belong to a project: those whose scope is the project's name (SPEC E-13, E-18, E-30).

A scope is stored as it was typed. Folders of one name are told apart by the root that is the lesson's origin: a lesson that
came from another project of this name is not loaded here. If the root is not known, or is gone because the project was moved,
the name alone decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.scopes import GLOBAL, scope_of_name
from tacitd_handlers.shared.project_identity import ProjectIdentity, identify_project

_HASH = compile_lazily(r"(?<=.)-(?=[0-9]*[a-f])[0-9a-f]{8}\Z")
"""What earlier versions appended to a project's name. A date, `-20240101`, is none."""


class ProjectLessons:
    """A project, and which lessons belong to it. Reads the roots' git configuration; each root once."""

    def __init__(self, directory: Path, origins: Mapping[int, Mapping[str, Any]]) -> None:
        """`origins`: by the lesson's number, as `LessonOrigins.read_all` returns it."""
        self.origins = origins
        self._here = identify_project(directory)
        self.names = _list_names(self._here)
        self._others: dict[tuple[str, str], bool] = {}

    @classmethod
    def from_environ(cls, env: Mapping[str, str], directory: Path | None = None) -> ProjectLessons:
        """The project of a directory (None: the current one). Origins that cannot be read are not known."""
        try:
            origins = LessonOrigins(lesson_paths.lessons_state_dir(env)).read_all()
        except OSError:
            origins = {}
        return cls(directory or _find_current(), origins)

    @property
    def root(self) -> Path:
        """The top of the project's main work tree."""
        return self._here.root

    def select_scope(self, lessons: Iterable[Lesson], scope: str) -> list[Lesson]:
        """The lessons of a scope, without those of another project of this name. All names of the project are one scope."""
        names = self.names if scope in self.names else (scope,)
        return [
            one
            for one in lessons
            if (one.scope in names or _HASH.sub("", one.scope) in names) and not self.is_of_other(one)
        ]

    def list_in_force(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """The global lessons and those of this project, in the order given."""
        given = list(lessons)
        own = {one.id for one in self.select_scope(given, self.names[0])}
        return [one for one in given if one.scope == GLOBAL or one.id in own]

    def is_of_other(self, lesson: Lesson) -> bool:
        """Whether a lesson came from another project that has the lesson's scope as its name, as this one has."""
        name = lesson.scope if lesson.scope in self.names else _HASH.sub("", lesson.scope)
        root = self._find_root(lesson)
        if not root or name not in self.names:
            return False
        if (root, name) not in self._others:
            other = identify_project(Path(root)) if _is_there(root) else self._here
            self._others[root, name] = other.key != self._here.key and name in _list_names(other)
        return self._others[root, name]

    def is_from_here(self, lesson: Lesson) -> bool:
        """Whether a lesson came from this project, also before the project was moved."""
        root = self._find_root(lesson)
        if _is_there(root):
            return identify_project(Path(root)).key == self._here.key
        return scope_of_name(Path(root).name) in self.names

    def _find_root(self, lesson: Lesson) -> str:
        return str(self.origins.get(int(lesson.id), {}).get("project", ""))


def _list_names(project: ProjectIdentity) -> tuple[str, ...]:
    """The names of a project as scopes: the folder's name, then the remote's last part; `project` if none is a scope of its own."""
    names = map(scope_of_name, (project.root.name, project.key.rsplit("/", 1)[-1]))
    return tuple(dict.fromkeys(name for name in names if name not in ("", GLOBAL))) or ("project",)


def _is_there(root: str) -> bool:
    try:
        return bool(root) and Path(root).is_dir()
    except PermissionError:
        return False


def _find_current() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # the directory was removed
        return Path(os.sep)
