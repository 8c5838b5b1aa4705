"""The handler of sessions: it updates each session's file from its transcript, adds summaries, and prunes old files.

It does not depend on a session's end, which may never come: the file is updated whenever the transcript grows, and a summary
is made also when a session pauses. What a transcript says belongs to `session_fold` and `client_tasks`, what a file contains to
`session_file`, the summaries to `summaries`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.clock import doubt_clock
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Due, Event, NoProject, Project, Record, SessionEnded, ToolAnswer, TranscriptGrew
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd_handlers.continuity.session_file import apply_progress, note_written, open_tasks
from tacitd_handlers.continuity.session_fold import end_session, fold_records
from tacitd_handlers.continuity.session_progress import Json, ToolCall, TranscriptProgress
from tacitd_handlers.continuity.store import SessionStore
from tacitd_handlers.continuity.summaries import (
    PAUSE,
    ChangeProgress,
    is_pause_over,
    is_worth_a_summary,
    summarise,
)
from tacitd_handlers.shared import decay
from tacitd_handlers.shared.unwanted_places import is_unwanted, keep_wanted, read_session

PRUNE, PAUSED = "sessions", "pauses"
"""Its jobs: remove old files; find sessions that paused."""
BROKEN, CLOCK = "continuity.broken", "continuity.clock"
RECENT = 2 * decay.DAY
"""Seconds. A session whose transcript grew this recently may get a summary at a pause."""


class ContinuityHandler(BaseHandler):
    """The handler of seed 001's sessions.

    Events of two projects are handled at the same time, and so are the jobs: hence the lock, under which a session's state is
    read, changed and written. It is not held while the model is asked.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._store: SessionStore
        self._lock = threading.RLock()
        self._is_unanswered = False
        """Whether the model had no answer since the job last looked: then it is not asked about other sessions."""

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Open the store. Nothing is read from the commits."""
        self._store = SessionStore.from_environ(self._env, tools.clock, tools.home, tools.guards or UNGUARDED)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Handle one event. Raises OSError or FileBusyError; the engine then offers the event again."""
        try:
            match event:
                case TranscriptGrew():
                    return self._handle_growth(event, tools)
                case SessionEnded():
                    return self._handle_end(event, tools)
                case Due(job="sessions"):
                    self._prune(tools)
                case Due(job="pauses", project=None):
                    self._find_pauses(tools)
                case Due(job="pauses" | "compaction" as job, project=project, session=session):
                    return self._summarise(session, project, tools, is_compacting=job == "compaction")
                case _:
                    pass
        except FileBusyError:
            raise
        except FileRefusedError as error:
            tools.degrade(Degradation(BROKEN, error.what, error.hint))
            return Later(error.what, error.hint)
        return Done()

    def status(self) -> Mapping[str, Any]:
        """Return `directory`, the number of `sessions`, and `open`: of those with open tasks."""
        found = [one for one in self._store.list_sessions(patient=False) if not one.fault]
        return {
            "directory": str(self._store.folder),
            "sessions": len(found),
            "open": sum(bool(open_tasks(one.document)) for one in found),
        }

    # growth

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        # One transcript may contain records of several sessions: the record's session counts, not the file's name.
        by_session: dict[str, list[Record]] = {}
        for record in keep_wanted(event.records, tools, event.project):
            by_session.setdefault(record.session or event.session, []).append(record)
        for session, records in by_session.items():
            if session:
                self._note_growth(session, records, event, tools)
        tools.clear(BROKEN)
        return Done()

    def _note_growth(
        self, session: str, records: Sequence[Record], event: TranscriptGrew, tools: Tools
    ) -> None:
        with self._lock:
            known = self._store.load_progress(session)
            typed = any(record.prompts or record.plan for record in records)
            if known is None and not typed and not self._store.session_path(session).exists():
                return  # a program's session, until somebody types in it: then the part before is read
            before = known or self._read_progress(session, event, tools)
            now = fold_records(
                before, records, lambda calls: _read_answers(event.transcript, calls, event.end, tools)
            )
            self._write(before, replace(now, upto=event.end, transcript=str(event.transcript)))
        if any(record.summary for record in records) and isinstance(event.project, Project):
            tools.post(Due(PAUSED, event.project, session))

    def _read_progress(self, session: str, event: TranscriptGrew, tools: Tools) -> TranscriptProgress:
        """The progress of a session of which none is stored, from the part of its transcript before this growth.

        tacitd was installed later, its state is gone, or nobody typed before. That part is read once, without a model call.
        """
        start = event.start
        before = read_session(session, event.transcript, 0, start, event.project, tools) if start else ()
        now = fold_records(
            TranscriptProgress(session),
            before,
            lambda calls: _read_answers(event.transcript, calls, start, tools),
        )
        if self._store.session_path(session).exists():  # it was written when this part was read
            now = replace(now, written=now.as_written())
        return replace(now, asked_turns=now.turns, asked_size=now.size, asked_upto=start, compacted=False)

    def _write(self, before: TranscriptProgress, now: TranscriptProgress) -> TranscriptProgress:
        """Store a session's state after `before`, and update its file."""
        if now.items != before.items != before.written.items:
            before = self._publish(before, before)  # tacitd ended in this write, or the file was busy
        now = replace(now, written=before.written)
        # Syncing each growth of a program's session would cost more than reading it, and nobody misses its last tasks after a
        # power cut. What may be in a session's file is not in the transcript, so a person's session is synced.
        self._store.save_progress(now, durable=bool(now.prompts))
        return self._publish(before, now)

    def _publish(self, before: TranscriptProgress, now: TranscriptProgress) -> TranscriptProgress:
        """Update the file of a session, and note what was written. A program's session, without a prompt, gets no file."""
        if not now.prompts:
            return now
        documents: list[Json] = []

        def change(document: Json | None) -> Json:
            documents.append(apply_progress(document, before, now))
            return documents[-1]

        self._store.change_session(now.session, change)
        noted = replace(now, written=note_written(documents[-1], now), decisions=())
        if noted != now:
            self._store.save_progress(noted, durable=False)
        return noted

    def _update(
        self, session: str, change: ChangeProgress, *, publish: bool = True
    ) -> TranscriptProgress | None:
        with self._lock:
            known = self._store.load_progress(session)
            if known is None:
                return None
            now = change(known)
            if publish:
                return self._write(known, now)
            self._store.save_progress(now)
            return now

    # summaries

    def _handle_end(self, event: SessionEnded, tools: Tools) -> Outcome:
        known = self._store.load_progress(event.session)
        if known is None or not known.prompts or is_unwanted(event.project, tools):
            return Done()
        now = self._update(event.session, end_session)
        if now is None or not is_worth_a_summary(now, tools.settings["continuity"]):
            return Done()
        if is_pause_over(now, tools.clock.now()):
            return summarise(now, event.transcript, _size(event.transcript), tools, self._update)
        if isinstance(event.project, Project):
            return Done()  # the job finds it when the hour is over
        # A directory that is not a project has no such job.
        what = "the session had a summary less than an hour ago"
        return Later(what, not_before=(now.asked_at or 0.0) + PAUSE)

    def _find_pauses(self, tools: Tools) -> None:
        """Post the job for each session that paused or was compacted and may have a summary now: an event of its own for each,
        because a person may have paused tacitd for one.

        A directory that is not a project has no such job: nobody could pause it. Its sessions get a summary at their end.
        """
        self._is_unanswered = False
        for now in self._store.list_recent(tools.clock.now() - RECENT):
            project = tools.project_of(now.cwd) if self._is_due(now, tools) else None
            if isinstance(project, Project) and not is_unwanted(project, tools):
                tools.post(Due(PAUSED, project, now.session))

    def _is_due(self, now: TranscriptProgress, tools: Tools) -> bool:
        at = tools.clock.now()
        is_worth = is_worth_a_summary(now, tools.settings["continuity"]) and is_pause_over(now, at)
        is_quiet = now.last is not None and at - now.last >= tools.settings["continuity"].quiet
        return is_worth and (now.compacted or is_quiet)

    def _summarise(
        self, session: str, project: Project | NoProject | None, tools: Tools, *, is_compacting: bool
    ) -> Outcome:
        """Summarise a session that paused, or that its client is about to compact.

        What has no answer now is tried again by the next job, at the compaction, or at the session's end.
        """
        now = self._store.load_progress(session)
        if now is None or (self._is_unanswered and not is_compacting):
            return Done()
        where = project if isinstance(project, Project) else tools.project_of(now.cwd)
        if not self._is_due(replace(now, compacted=is_compacting or now.compacted), tools) or is_unwanted(
            where, tools
        ):
            return Done()
        outcome = summarise(now, Path(now.transcript), now.upto, tools, self._update)
        self._is_unanswered = not isinstance(outcome, Done)
        return Done() if self._is_unanswered else outcome

    # pruning

    def _prune(self, tools: Tools) -> None:
        found, limit = self._store.list_sessions(patient=False), tools.clock.now() + decay.DAY
        times = [one.last_active for one in found if not one.fault and one.last_active <= limit]
        doubt = doubt_clock(tools.clock.now(), max(times, default=None))
        if doubt:
            tools.degrade(Degradation(CLOCK, doubt, "set the clock; until then no session is removed"))
            return
        tools.clear(CLOCK)
        self._store.prune_sessions(tools.clock.now())
        broken = next((one.fault for one in found if one.fault), "")
        if broken:
            tools.degrade(Degradation(BROKEN, broken, "correct it by hand, or remove it"))
        else:
            tools.clear(BROKEN)


def _read_answers(
    transcript: Path, calls: Sequence[ToolCall], end: int, tools: Tools
) -> Mapping[str, ToolAnswer]:
    """The answers to open calls, as far as they are before the byte offset `end`."""
    start = min(call.start for call in calls)
    return tools.read_tool_answers(transcript, [call.id for call in calls], start, end)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
