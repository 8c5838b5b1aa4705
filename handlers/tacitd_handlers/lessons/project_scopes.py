"""Which lessons belong to a project, and by which name its scope is shown (SPEC E-30).

A lesson of a project has the project's scope, `app-1a2b3c4d`, which no other folder of the same name has. Older lessons, and
those that somebody adds by name, have the plain name `app`: they belong to the project that they came from, otherwise to the
only known project of that name. If there are several, they belong to none and are listed, loaded by name and edited as
before.

`projects.jsonl` in the state directory names the projects that sessions worked in:

    {"scope":"app-1a2b3c4d","names":["app"],"root":"/home/u/app"}
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.files.log import Log
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.shared.project_identity import ProjectIdentity, identify_project, split_scope

if TYPE_CHECKING:
    from tacitd_handlers.lessons.lesson_fold import FoldedLessons, Lesson


class KnownProject(Struct, frozen=True):
    """A project that a session worked in."""

    scope: str
    names: tuple[str, ...]
    root: str


class ProjectRegistry:
    """The log projects.jsonl."""

    def __init__(self, beside: Path) -> None:
        self._log = Log(beside / lesson_paths.PROJECTS)

    def read_all(self) -> tuple[KnownProject, ...]:
        """The last record of each root. Foreign and malformed records are skipped. Raises OSError."""
        found = {one.root: one for record in self._log.read() if (one := _parse(record)) is not None}
        return tuple(found.values())

    def add_if_new(self, identity: ProjectIdentity) -> None:
        """Note a project. Raises OSError, LogDamagedError."""
        made = KnownProject(identity.scopes[0], identity.names, os.fspath(identity.root))
        if made not in self.read_all():
            self._log.append_and_close({"scope": made.scope, "names": list(made.names), "root": made.root})


class ProjectScope(Struct, frozen=True):
    """What decides whether a lesson holds in a project."""

    here: ProjectIdentity
    known: tuple[KnownProject, ...] = ()
    origins: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """By the lesson's number, as `LessonOrigins.read_all` returns it."""

    @property
    def name(self) -> str:
        """The name by which its sessions and its prompts know the scope; "" if nothing of the folder's name remains."""
        return next(iter(self.here.names), "")

    def holds(self, id: str, scope: str) -> bool:
        """Whether a lesson holds in this project."""
        if scope == GLOBAL or scope in self.here.scopes:
            return True
        return scope in self.here.names and self._belongs(id, scope)

    def resolve(self, scope: str) -> str:
        """The scope to store for one that somebody or a model named here."""
        return self.here.scopes[0] if scope in self.here.names else scope

    def _belongs(self, id: str, name: str) -> bool:
        """Whether a lesson with a plain name as its scope belongs to this project."""
        root = str(self.origins.get(int(id), {}).get("project", ""))
        if root:
            if Path(root).is_dir():
                return identify_project(Path(root)).key == self.here.key
            scopes = {one.scope for one in self.known if one.root == root}
            if scopes:
                return bool(scopes & set(self.here.scopes))
        others = {one.scope for one in self.known if name in one.names} - set(self.here.scopes)
        return not others


def find_project_scope(env: Mapping[str, str], directory: Path | None = None) -> ProjectScope:
    """The project of a directory (None: the current one), with what decides about lessons of its name.

    What cannot be read counts as not known.
    """
    beside = lesson_paths.lessons_state_dir(env)
    try:
        known, origins = ProjectRegistry(beside).read_all(), LessonOrigins(beside).read_all()
    except OSError:
        known, origins = (), {}
    return ProjectScope(identify_project(directory or Path.cwd()), known, origins)


def list_in_force(folded: FoldedLessons, project: ProjectScope) -> list[Lesson]:
    """The active lessons that hold in a project, the global ones included, by id."""
    return [one for one in folded.list_active() if project.holds(one.id, one.scope)]


def list_ambiguous(
    folded: FoldedLessons, known: Iterable[KnownProject], origins: Collection[int]
) -> list[Lesson]:
    """The active lessons whose scope is the name of several projects, and whose origin is not known."""
    scopes: dict[str, set[str]] = {}
    for one in known:
        for name in one.names:
            scopes.setdefault(name, set()).add(one.scope)
    several = {name for name, found in scopes.items() if len(found) > 1}
    return [one for one in folded.list_active() if one.scope in several and int(one.id) not in origins]


def name_scopes(scopes: Iterable[str], known: Iterable[KnownProject] = ()) -> dict[str, str]:
    """Return the shown name of each scope: `app` for `app-1a2b3c4d`, or the whole scope where names collide."""
    all_scopes = list(dict.fromkeys(scopes))
    users: dict[str, set[str]] = {}
    for scope in (*all_scopes, *(one.scope for one in known)):
        users.setdefault(split_scope(scope)[0], set()).add(scope)
    return {scope: name if len(users[name := split_scope(scope)[0]]) == 1 else scope for scope in all_scopes}


def show_scopes(
    lessons: Iterable[Lesson], every: Iterable[Lesson], known: Iterable[KnownProject]
) -> list[Lesson]:
    """Return the lessons with the shown names as their scopes. `every`: all lessons of the store."""
    names = name_scopes((one.scope for one in every), known)
    return [replace(one, scope=names.get(one.scope, one.scope)) for one in lessons]


def _parse(record: Mapping[str, Any]) -> KnownProject | None:
    scope, names, root = record.get("scope"), record.get("names"), record.get("root")
    if not isinstance(scope, str) or not isinstance(names, list) or not isinstance(root, str):
        return None
    return KnownProject(scope, tuple(map(str, names)), root)
