"""The handler of lessons in the daemon: stores drafts, maintains the index, reports the status.

Drafts come from the synthesis, through `draft_extension.py`. All other features work without the daemon.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import LogDamagedError, describe_failure
from tacitd.events import Due, Event, Message, Project
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd_handlers.lessons.draft_extension import store_finding
from tacitd_handlers.lessons.lesson_fold import FoldedLessons
from tacitd_handlers.lessons.lesson_index import count_lessons
from tacitd_handlers.lessons.lesson_notices import describe_commit
from tacitd_handlers.lessons.store import LessonStore
from tacitd_handlers.lessons.withdrawal import REASON, withdraw_lessons

TIDY = "tidy"
DAMAGED = "lessons.damaged"


class LessonsHandler(BaseHandler):
    """Seed 004 as a handler of the daemon."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Store drafted lessons, run the tidy job, ignore other events."""
        if isinstance(event, Due) and event.job == TIDY:
            self._tidy(tools)
        if isinstance(event, Message):
            return self._store_findings(event, tools)
        return Done()

    def _store_findings(self, event: Message, tools: Tools) -> Outcome:
        """Store the drafts of a synthesis, and withdraw the lessons of deleted lines (SPEC E-30, E-32)."""
        store = LessonStore.from_environ(self._env, tools.clock)
        root = str(event.project.root) if isinstance(event.project, Project) else ""
        try:
            added = store_finding(store, event.data, event.session, event.at, root)
            removed = [str(line) for line in event.data.get("removed", ())]
            withdrawn = withdraw_lessons(store, removed, Path(root)) if root else ()
        except (OSError, LogDamagedError) as error:
            what, hint = describe_failure(error)
            return Later(f"lessons cannot be written: {what}", hint)
        for id in withdrawn:
            logger.info("lesson {} was withdrawn: {}", id, REASON)
        return Done(data={"added": list(added)} if added else {})

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Announce the lessons that were drafted. The files are written already."""
        for notice in describe_commit(commit, self._env):
            tools.announce(notice)

    def status(self) -> Mapping[str, Any]:
        """The number of lessons of each kind."""
        try:
            lessons = LessonStore.from_environ(self._env).read_lessons()
        except OSError:
            lessons = FoldedLessons()
        counts = count_lessons(lessons)
        return {kind: counts[kind] for kind in ("active", "ai", "user", "deleted", "promoted")}

    def _tidy(self, tools: Tools) -> None:
        """Make a stale index again, and report damaged lines of the log."""
        store = LessonStore.from_environ(self._env, tools.clock)
        try:
            store.update_index()
        except (OSError, LogDamagedError) as error:
            what, hint = describe_failure(error)
            tools.degrade(Degradation(DAMAGED, f"{store.directory}: {what}", hint))
            return
        if bad := store.log.bad:
            what = f"{bad} lines of {store.log.path} are not records"
            tools.degrade(Degradation(DAMAGED, what, "they are skipped; correct or remove them"))
        else:
            tools.clear(DAMAGED)
