"""Where a lesson came from: the session, the project, the prompts, and the person's words with secrets blanked.

It is in the store, because the log's records have the seed's keys alone (SPEC E-25) and people share it. It may be missing: in an
agent's sandbox the store cannot be written.

The project's root decides which lessons belong to a project (SPEC E-13, E-18, E-30). A scope is stored as it was typed; folders
of one name are told apart by the root: a lesson that came from another project of this name is not loaded here. If the root is
not known, or is gone because the project was moved, the name alone decides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacitd.errors import TacitdError
from tacitd.state.paths import find_current_dir, state_dir
from tacitd_handlers.lessons import SCHEMA
from tacitd_handlers.lessons.lesson_log import Lesson, LessonLog
from tacitd_handlers.lessons.pattern import GLOBAL, scope_of_name
from tacitd_handlers.shared.places import identify_project

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx

WORDS = 5
LONGEST = 300
"""Maximum characters of each quoted sentence of a person."""


class Origin(NamedTuple):
    """The origin of a lesson; see schema.sql. `at` is in seconds since 1970, UTC."""

    session: str = ""
    at: float = 0.0
    project: str = ""
    """The project's root."""
    prompts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """What the person typed. `put_origin` redacts and cuts it."""
    lines: tuple[str, ...] = ()
    """Lines of the project's files that were made of the same facts. Who deletes one withdraws the lesson (SPEC E-30)."""


def put_origin(tx: Tx, log: LessonLog, id: str, origin: Origin) -> None:
    """Store an origin. The first one with words counts."""
    from tacitd.text.redact import redact_secrets
    from tacitd.text.sanitize import sanitize_line

    # Redacted before they are cut: half of a secret is a secret.
    words = [redact_secrets(sanitize_line(each))[0][:LONGEST] for each in origin.words if each.strip()]
    lists = (origin.prompts, words[:WORDS], origin.lines)
    tx.execute(
        "INSERT INTO lessons_origin VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "(session, at, root, prompts, words, lines) = "
        "(excluded.session, excluded.at, excluded.root, excluded.prompts, excluded.words, excluded.lines) "
        "WHERE lessons_origin.words = '[]'",
        *(_name_directory(log), int(id), origin.session, int(origin.at), origin.project),
        *(json.dumps(each, ensure_ascii=False) for each in lists),
    )


def read_origins(rows: Rows, log: LessonLog) -> dict[int, Origin]:
    """By the lesson's number."""
    found = rows(
        "SELECT lesson, session, at, root, prompts, words, lines FROM lessons_origin WHERE directory = ?",
        _name_directory(log),
    )
    return {
        number: Origin(session, at, root, *(tuple(json.loads(each)) for each in lists))
        for number, session, at, root, *lists in found
    }


def note_origin(log: LessonLog, id: str, origin: Origin) -> None:
    """Store an origin from a command, beside the daemon or without one. If the store cannot be written, only the origin is missing."""
    from tacitd.store import Store

    with suppress(OSError, TacitdError):
        store = Store.open(state_dir(os.environ), log.clock, {"lessons": SCHEMA}, owner=False)
        with closing(store):
            if not store.off:
                with store.write() as tx:
                    put_origin(tx, log, id, origin)


def load_origins(log: LessonLog) -> dict[int, Origin]:
    """By the lesson's number, for a command; none if there is no store or it cannot be read."""
    from tacitd.store import open_readonly

    with suppress(OSError, TacitdError):
        store = open_readonly(state_dir(os.environ))
        if store is not None:
            with store:
                return read_origins(store.rows, log) if store.versions.get("lessons") == len(SCHEMA) else {}
    return {}


def _name_directory(log: LessonLog) -> str:
    return os.path.realpath(log.directory)


class ProjectLessons:
    """A project, and which lessons belong to it. Reads the roots' git configuration."""

    def __init__(self, directory: Path | None, origins: Mapping[int, Origin]) -> None:
        self.origins = origins
        self._here = identify_project(directory or find_current_dir())
        self.root = self._here.root
        self.name = _name_project(self.root)
        """The scope of its lessons."""
        self._from_here: dict[str, bool] = {}

    def find_origin(self, lesson: Lesson) -> Origin:
        return self.origins.get(int(lesson.id), Origin())

    def select_scope(self, lessons: Iterable[Lesson], *scopes: str) -> list[Lesson]:
        """The lessons of these scopes, in the order given, without those of another project of this name."""
        return [one for one in lessons if one.scope in scopes and not self.is_of_other(one)]

    def list_in_force(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        return self.select_scope(lessons, GLOBAL, self.name)

    def is_of_other(self, lesson: Lesson) -> bool:
        """Whether a lesson came from another project that has the lesson's scope as its name, as this one has."""
        root = Path(self.find_origin(lesson).project)
        return lesson.scope == self.name == _name_project(root) and not self.is_from_here(lesson)

    def is_from_here(self, lesson: Lesson) -> bool:
        """Whether a lesson came from this project: a clone is the same one, and a root that is gone was moved."""
        root = self.find_origin(lesson).project
        if root not in self._from_here:
            path, is_there = Path(root), False
            with suppress(PermissionError):
                is_there = bool(root) and path.is_dir()
            is_same = (
                identify_project(path).key == self._here.key if is_there else _name_project(path) == self.name
            )
            self._from_here[root] = is_same
        return self._from_here[root]


def _name_project(root: Path) -> str:
    name = scope_of_name(root.name)
    return name if name not in ("", GLOBAL) else "project"
