"""The handler of lessons in the daemon: stores drafts, maintains the index and the load counts, reports the status.

Drafts come from the synthesis, through `draft_extension.py`. All other features work without the daemon.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tacitd.errors import LogDamagedError, describe_os_error
from tacitd.events import Due, Event, Project, Told
from tacitd.files.log import Log
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Notice, Outcome, Tools
from tacitd_handlers.lessons import lesson_index, lesson_paths, load_counts
from tacitd_handlers.lessons.draft_extension import store_finding
from tacitd_handlers.lessons.store import LessonStore

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
        if isinstance(event, Told):
            return self._store_findings(event, tools)
        return Done()

    def _store_findings(self, event: Told, tools: Tools) -> Outcome:
        """Store the drafts and the repeated corrections of a synthesis (SPEC E-30)."""
        store = LessonStore.from_environ(self._env, tools.clock)
        root = str(event.project.root) if isinstance(event.project, Project) else ""
        try:
            added = store_finding(store, event.data, event.session, event.at, root)
        except (OSError, LogDamagedError) as error:
            what, hint = _cause_and_hint(error)
            return Later(f"lessons cannot be written: {what}", hint)
        return Done(data={"added": list(added)} if added else {})

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Announce the lessons that were drafted. The files are written already."""
        added = [str(id) for id in commit.data.get("added", ())]
        if not added:
            return
        lessons = LessonStore.from_environ(self._env, tools.clock).read_lessons().lessons
        for lesson in [lessons[id] for id in added if id in lessons]:
            tools.announce(Notice("learned", lesson.text, f"lesson {lesson.id}"))

    def status(self) -> Mapping[str, Any]:
        """The number of lessons of each kind. `index`: `fresh`, `stale` if it does not match the log, or `none`."""
        log = lesson_paths.log_path(self._env)
        found = lesson_index.read_index(log, lesson_paths.index_path(self._env))
        counts = found.read_counts() if found is not None else {}
        state = (
            "fresh" if found is not None else "stale" if lesson_index.stat_log(log) is not None else "none"
        )
        kinds = ("active", "ai", "user", "deleted", "promoted")
        return {"index": state, **{kind: counts.get(kind, 0) for kind in kinds}}

    def _tidy(self, tools: Tools) -> None:
        """Rebuild a stale index, compact the load counts, and report damaged lines of the log."""
        store = LessonStore.from_environ(self._env, tools.clock)
        try:
            bad = store.load_index().read_counts()["bad"]
            loads = Log(store.state_dir / lesson_paths.HITS)
            if loads.size > load_counts.COMPACT_AT:
                loads.compact(load_counts.compact_loads(loads.read()))
        except (OSError, LogDamagedError) as error:
            what, hint = _cause_and_hint(error)
            tools.degrade(Degradation(DAMAGED, f"{store.directory}: {what}", hint))
            return
        if bad:
            what = f"{bad} lines of {store.log.path} are not records"
            tools.degrade(Degradation(DAMAGED, what, "they are skipped; correct or remove them"))
        else:
            tools.clear(DAMAGED)


def _cause_and_hint(error: OSError | LogDamagedError) -> tuple[str, str]:
    """The cause and the hint that fixes it; for an OSError they depend on its errno."""
    return describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)
