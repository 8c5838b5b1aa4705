"""The global lessons for the rules file that every session loads: the hook `person_rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.clock import Clock
from tacitd.session_context.person_rules import PersonRule
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_operations import mark_wrong
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.store import LessonStore

REASON = "the line was deleted in rules/tacitd.md"


class LessonRules:
    """A rule's id is that of its lesson."""

    title = "Lessons"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ = environ
        self._clock = clock

    def list_files(self) -> Sequence[Path]:
        """The log of the lessons."""
        return [lesson_paths.lessons_dir(self._environ) / lesson_paths.LOG]

    def list_rules(self) -> Sequence[PersonRule]:
        """The active global lessons: those that a person stated first, then the newest. Raises OSError.

        Only people edit lessons, so an edited one counts as a person's.
        """
        store = LessonStore.from_environ(self._environ, self._clock)
        found = [one for one in store.read_lessons().list_active() if one.scope == GLOBAL]
        found.sort(key=lambda one: (not one.is_firm, -int(one.id)))
        return [PersonRule(one.id, one.text, one.is_firm or bool(one.updated)) for one in found]

    def withdraw_rule(self, id: str) -> None:
        """Mark the lesson wrong, so that it is neither loaded nor drafted again. Raises OSError, LogDamagedError."""
        store = LessonStore.from_environ(self._environ, self._clock)
        found = store.read_lessons().get(id)
        if found is not None and found.is_active:
            mark_wrong(store, id, REASON)
