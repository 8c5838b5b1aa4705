"""Where a lesson came from: the session, the project, the prompts, and the person's words with secrets blanked.

It is not stored in lessons.jsonl, because its records have the seed's keys alone (SPEC E-25) and people share it. It may be
missing: in an agent's sandbox the state directory cannot be written.

The project's root decides which lessons belong to a project (SPEC E-13, E-18, E-30). A scope is stored as it was typed; folders
of one name are told apart by the root: a lesson that came from another project of this name is not loaded here. If the root is
not known, or is gone because the project was moved, the name alone decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tacitd_handlers.lessons.lesson_log import (
    Lesson,
    LessonLog,
    decode_record,
    encode_record,
    number_of,
)
from tacitd_handlers.lessons.pattern import GLOBAL, scope_of_name

if TYPE_CHECKING:
    from tacitd_handlers.shared.project_identity import ProjectIdentity

FILE = "origins.jsonl"
SESSION = "CLAUDE_CODE_SESSION_ID"
"""The variable in which Claude Code passes the session id to its children."""
WORDS = 5
LONGEST = 300
"""Maximum characters of each quoted sentence of a person."""


class Origin(NamedTuple):
    """The origin of a lesson."""

    session: str = ""
    at: float = 0.0
    """Seconds since 1970, UTC."""
    project: str = ""
    """The project's root."""
    prompts: tuple[str, ...] = ()
    """Ids of the prompts' records."""
    words: tuple[str, ...] = ()
    """What the person typed. `add_origin` redacts and cuts it."""
    lines: tuple[str, ...] = ()
    """Lines of the project's files that were made of the same facts. Who deletes one withdraws the lesson (SPEC E-30)."""


def add_origin(log: LessonLog, id: str, origin: Origin) -> None:
    """Append an origin, durably. Raises OSError, FileRefusedError."""
    from tacitd.files.append_text import append_text
    from tacitd.text.redact import redact_secrets
    from tacitd.text.sanitize import sanitize_line

    # Redacted before they are cut: half of a secret is a secret.
    words = [redact_secrets(sanitize_line(each))[0][:LONGEST] for each in origin.words if each.strip()]
    kept = origin._replace(at=int(origin.at), words=tuple(words[:WORDS]))
    append_text(log.notes / FILE, encode_record({"id": id, **kept._asdict()}) + b"\n", disk=log.disk)


def read_origins(log: LessonLog) -> dict[int, Origin]:
    """By the lesson's number; none if they cannot be read.

    The first one counts. If it has no words, a later one replaces it, of the same session if it has one.
    """
    try:
        data = (log.notes / FILE).read_bytes()
    except OSError:
        return {}
    kept: dict[int, Origin] = {}
    for line in data.split(b"\n"):
        record = decode_record(line)
        number, at, session = number_of(record.get("id")), record.get("at"), record.get("session")
        if number is None or not isinstance(at, int | float) or not isinstance(session, str):
            continue
        known = kept.get(number)
        if known is None or (not known.words and known.session in ("", session)):
            texts = (_texts(record, key) for key in ("prompts", "words", "lines"))
            kept[number] = Origin(session, at, str(record.get("project", "")), *texts)
    return kept


def _texts(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key)
    return tuple(map(str, value)) if isinstance(value, list) else ()


class ProjectLessons:
    """A project, and which lessons belong to it. Reads the roots' git configuration."""

    def __init__(self, directory: Path | None, origins: Mapping[int, Origin]) -> None:
        """`directory`: in the project, None for the current one. `origins`: as `read_origins` returns them."""
        self.origins = origins
        self._here = _identify(directory or _find_current())
        self.root = self._here.root
        """The top of the project's main work tree."""
        self.name = _name_project(self.root)
        """The scope of its lessons."""
        self._from_here: dict[str, bool] = {}

    def find_origin(self, lesson: Lesson) -> Origin:
        """The origin of a lesson; an empty one if it is not known."""
        return self.origins.get(int(lesson.id), Origin())

    def select_scope(self, lessons: Iterable[Lesson], *scopes: str) -> list[Lesson]:
        """The lessons of these scopes, in the order given, without those of another project of this name."""
        return [one for one in lessons if one.scope in scopes and not self.is_of_other(one)]

    def list_in_force(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """The global lessons and those of this project, in the order given."""
        return self.select_scope(lessons, GLOBAL, self.name)

    def is_of_other(self, lesson: Lesson) -> bool:
        """Whether a lesson came from another project that has the lesson's scope as its name, as this one has."""
        root = Path(self.find_origin(lesson).project)
        return lesson.scope == self.name == _name_project(root) and not self.is_from_here(lesson)

    def is_from_here(self, lesson: Lesson) -> bool:
        """Whether a lesson came from this project: a clone is the same one, and a root that is gone was moved."""
        root = self.find_origin(lesson).project
        if root not in self._from_here:
            path = Path(root)
            is_same = (
                _identify(path).key == self._here.key if _is_there(root) else _name_project(path) == self.name
            )
            self._from_here[root] = is_same
        return self._from_here[root]


def _identify(directory: Path) -> ProjectIdentity:
    from tacitd_handlers.shared.project_identity import identify_project  # `load` of no scope needs none

    return identify_project(directory)


def _name_project(root: Path) -> str:
    """The folder's name as a scope; `project` if it has none of its own."""
    name = scope_of_name(root.name)
    return name if name not in ("", GLOBAL) else "project"


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
