"""The handler of lessons in the daemon: stores drafts, maintains the index, reports the status.

All other features work without the daemon.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import FileRefusedError, describe_failure
from tacitd.events import Due, Event, Message, Project
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd_handlers.lessons.lesson_drafts import store_finding, withdraw_lessons
from tacitd_handlers.lessons.lesson_history import describe_commit
from tacitd_handlers.lessons.lesson_log import LessonLog, fold_log

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
        log = LessonLog.from_environ(self._env, tools.clock)
        root = str(event.project.root) if isinstance(event.project, Project) else ""
        try:
            added = store_finding(log, event.data, event.session, event.at, root)
            removed = [str(line) for line in event.data.get("removed", ())]
            withdrawn = withdraw_lessons(log, removed, Path(root)) if root else ()
        except (OSError, FileRefusedError) as error:
            what, hint = describe_failure(error)
            return Later(f"lessons cannot be written: {what}", hint)
        for id in withdrawn:
            logger.info("lesson {} was withdrawn: its line was deleted by hand", id)
        return Done(data={"added": list(added)} if added else {})

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Announce the lessons that were drafted. The files are written already."""
        for notice in describe_commit(commit, self._env):
            tools.announce(notice)

    def status(self) -> Mapping[str, Any]:
        """The number of lessons of each kind."""
        try:
            lessons = LessonLog.from_environ(self._env).read_lessons()
        except OSError:
            lessons = fold_log(b"")
        statuses = Counter(one.status for one in lessons.all.values())
        sources = Counter(one.source for one in lessons.list_active())
        counts = {kind: statuses[kind] for kind in ("active", "deleted", "promoted")}
        return counts | {kind: sources[kind] for kind in ("ai", "user")}

    def _tidy(self, tools: Tools) -> None:
        """Make a stale index again, and report lines of the log that are no lessons."""
        log = LessonLog.from_environ(self._env, tools.clock)
        try:
            log.update_index()
            odd = log.read_lessons().odd
        except (OSError, FileRefusedError) as error:
            what, hint = describe_failure(error)
            tools.degrade(Degradation(DAMAGED, f"{log.directory}: {what}", hint))
            return
        if odd:
            tools.degrade(
                Degradation(DAMAGED, log.describe_odd(odd), "they are kept; correct or remove them")
            )
        else:
            tools.clear(DAMAGED)


def format_status_lines(status: Mapping[str, Any]) -> Iterator[str]:
    """Given the plugin's part of the status document, yield the lines of `tacitd status`."""
    if status["active"]:
        by_people = f", {status['user']} of them stated by people" if status["active"] > 1 else ""
        yield f"{status['active']} active{by_people or (', stated by a person' if status['user'] else '')}"
