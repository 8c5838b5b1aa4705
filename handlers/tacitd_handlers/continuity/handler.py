"""The handler of sessions: it updates each session's file from its transcript, adds summaries, and prunes old files.

It does not depend on a session's end, which may never come: the file is updated whenever the transcript grows, and a summary
is made also when a session pauses. What a transcript says belongs to `session_progress` and `tasks`, what a file contains to
`render`, the summaries to `summaries`.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.consumers.snapshots import SNAPSHOT
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Due, Event, Project, Record, SessionEnded, ToolAnswer, TranscriptGrew
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd_handlers.continuity import render
from tacitd_handlers.continuity.session_progress import end_session, fold_records
from tacitd_handlers.continuity.settings import ContinuitySettings
from tacitd_handlers.continuity.store import SessionStore
from tacitd_handlers.continuity.stored_progress import ToolCall, TranscriptProgress
from tacitd_handlers.continuity.summaries import (
    PAUSE,
    ChangeProgress,
    SummaryMaker,
    is_pause_over,
    is_worth_a_summary,
)
from tacitd_handlers.continuity.task_merge import list_task_values
from tacitd_handlers.continuity.wanted_records import keep_wanted
from tacitd_handlers.shared import decay
from tacitd_handlers.shared.unwanted_places import is_unwanted

PRUNE, PAUSED = "sessions", "pauses"
"""Its jobs: remove old files; find sessions that paused."""
BROKEN, CLOCK = "continuity.broken", "continuity.clock"
RECENT = 2 * decay.DAY
"""Seconds. A session whose transcript grew this recently may still get a summary after a restart."""


class ContinuityHandler(BaseHandler):
    """The handler of seed 001's sessions.

    Events of two projects are handled at the same time, and so are the jobs: hence the lock, under which a session's state is
    read, changed and written. It is not held while the model is asked.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._store: SessionStore
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._summaries = SummaryMaker(self._update)
        self._growing: dict[str, bool] = {}
        """The sessions that grew since their last summary, and whether one is due now: they were compacted."""
        self._is_unanswered = False
        """Whether the model had no answer since the job last looked: then it is not asked about other sessions."""
        self._newest: float | None = None
        """The time of the newest record that was read: seconds since 1970, UTC."""
        self._clock_doubted = False

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Open the store, count earlier summaries, and find the sessions that may get one."""
        self._store = SessionStore.from_environ(self._env, tools.clock, tools.home, tools.guards or UNGUARDED)
        self._growing = dict.fromkeys(self._store.list_recent(tools.clock.now() - RECENT), False)
        for commit in commits:
            self._count(commit)

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
                case Due(job="pauses", project=Project() as project, session=session):
                    return self._summarise_paused(project, session, tools)
                case Due(job="compaction", session=session):
                    return self._summarise_compacting(session, tools)
                case _:
                    pass
        except FileBusyError:
            raise
        except FileRefusedError as error:
            tools.degrade(Degradation(BROKEN, error.what, error.hint))
            return Later(error.what, error.hint)
        return Done()

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Count the summary. The files were written in `handle`, so nothing is written here."""
        self._count(commit)

    def take_snapshot(self) -> Mapping[str, Any]:
        """The counts."""
        return {"counts": dict(self._counts)}

    def _count(self, commit: Commit) -> None:
        if commit.event == SNAPSHOT:
            self._counts = Counter(commit.data["counts"])
        if "summary" in commit.data:
            self._counts[str(commit.data["summary"])] += 1

    def status(self) -> Mapping[str, Any]:
        """Return `directory`, the number of `sessions`, `open` (sessions with open tasks), and `summaries`: the counts of `made`
        and `none`."""
        sessions, open_ones = self._store.count_sessions()
        return {
            "directory": str(self._store.folder),
            "sessions": sessions,
            "open": open_ones,
            "summaries": dict(self._counts),
        }

    # growth

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        self._note_time(event.records, tools)
        # One transcript may contain records of several sessions: the record's session counts, not the file's name.
        by_session: dict[str, list[Any]] = {}
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
            typed = any(one.prompts or one.plan for one in records)
            if known is None and not typed and not self._store.session_path(session).exists():
                return  # a program's session, until somebody types in it: then the part before is read
            before = known or self._read_progress(session, event, tools)
            now = fold_records(
                before, records, lambda calls: _read_answers(event.transcript, calls, event.end, tools)
            )
            now = self._write_session(replace(now, upto=event.end, transcript=str(event.transcript)))
            compacted = any(one.summary for one in records)
            self._growing[session] = compacted or self._growing.get(session, False)
        if compacted and isinstance(event.project, Project):
            tools.post(Due(PAUSED, event.project, session))

    def _read_progress(self, session: str, event: TranscriptGrew, tools: Tools) -> TranscriptProgress:
        """The progress of a session of which none is stored. Trigger: the transcript is read from its middle. Why: tacitd was
        installed later, its state is gone, or nobody typed before. Outcome: the part before is read once, without a model call."""
        transcript, start = event.transcript, event.start
        before = (
            [
                one
                for one in keep_wanted(tools.read_records(transcript, 0, start), tools, event.project)
                if one.session in ("", session)
            ]
            if start
            else []
        )
        now = fold_records(
            TranscriptProgress(session), before, lambda calls: _read_answers(transcript, calls, start, tools)
        )
        if start and self._store.session_path(session).exists():  # it was written when this part was read
            now = replace(
                now,
                written_summary=now.summary,
                written_notes=now.notes,
                written_tasks=list_task_values(now.items),
            )
        return replace(now, asked_turns=now.turns, asked_size=now.size, asked_upto=start)

    def _write_session(self, now: TranscriptProgress) -> TranscriptProgress:
        """Update the session's file. A session without a typed prompt is a program's, and gets no file."""
        rendered, values = now, now.written_tasks
        if values is not None:
            now = replace(now, written_tasks=list_task_values(now.items, values))
        # Syncing each growth of a program's session would cost more than reading it, and nobody misses its last tasks after a
        # power cut. What may be in a session's file is not in the transcript, so a person's session is synced.
        self._store.save_progress(now, durable=bool(now.prompts))
        if not now.prompts:
            return now
        self._store.change_session(now.session, lambda before: render.render_session(before, rendered))
        # What is in the file now must not be written again: a person may remove it there.
        written = replace(
            now,
            written_summary=now.summary,
            written_notes=now.notes,
            written_tasks=list_task_values(now.items),
            decisions=(),
        )
        if written != now:
            self._store.save_progress(written, durable=False)
        return written

    def _update(
        self, session: str, change: ChangeProgress, *, publish: bool = True
    ) -> TranscriptProgress | None:
        with self._lock:
            known = self._store.load_progress(session)
            if known is None:
                return None
            if publish:
                return self._write_session(change(known))
            self._store.save_progress(change(known))
            return change(known)

    # summaries

    def _handle_end(self, event: SessionEnded, tools: Tools) -> Outcome:
        known = self._store.load_progress(event.session)
        if known is None or not known.prompts or is_unwanted(event.project, tools):
            return Done()
        now = self._update(event.session, end_session)
        upto = _size(event.transcript)
        self._growing.pop(event.session, None)
        if now is None or not is_worth_a_summary(now, tools.settings["continuity"]):
            return Done()
        if not is_pause_over(now, tools.clock.now()):
            if isinstance(event.project, Project):
                self._growing[event.session] = False  # the job finds it when the hour is over
                return Done()
            # A directory that is not a project has no such job.
            what = "the session had a summary less than an hour ago"
            return Later(what, not_before=(now.asked_at or 0.0) + PAUSE)
        return self._summaries.summarise(now, event.transcript, upto, tools)

    def _find_pauses(self, tools: Tools) -> None:
        """Post the job for each session that paused or was compacted and may have a summary now: an event of its own for each,
        because a person may have paused tacitd for one.

        A directory that is not a project has no such job: nobody could pause it. Its sessions get a summary at their end.
        """
        self._is_unanswered = False
        for now in self._list_due(list(self._growing), tools):
            project = tools.project_of(now.cwd)
            if isinstance(project, Project) and not is_unwanted(project, tools):
                tools.post(Due(PAUSED, project, now.session))

    def _list_due(self, sessions: Sequence[str], tools: Tools) -> Iterator[TranscriptProgress]:
        settings: ContinuitySettings = tools.settings["continuity"]
        at = tools.clock.now()
        for session in sessions:
            now, compacted = self._store.load_progress(session), self._growing.get(session)
            if compacted is None:
                continue
            if now is None or not is_worth_a_summary(now, settings):
                self._growing.pop(session, None)
            elif is_pause_over(now, at) and (
                compacted or (now.last is not None and at - now.last >= settings.quiet)
            ):
                yield now

    def _summarise_paused(self, project: Project, session: str, tools: Tools) -> Outcome:
        """Summarise a session. What has no answer now is tried again by the next job, or at the session's end."""
        now = next(self._list_due([session], tools), None)
        if now is None or is_unwanted(project, tools) or self._is_unanswered:
            return Done()
        outcome = self._summaries.summarise(now, Path(now.transcript), now.upto, tools)
        if not isinstance(outcome, Done):
            self._is_unanswered = True
            return Done()
        self._growing.pop(session, None)
        return outcome

    def _summarise_compacting(self, session: str, tools: Tools) -> Outcome:
        """Summarise a session that its client is about to compact. Without an answer, the compaction itself is summarised."""
        now = self._store.load_progress(session)
        if now is None or is_unwanted(tools.project_of(now.cwd), tools):
            return Done()
        is_due = is_pause_over(now, tools.clock.now())
        if not is_due or not is_worth_a_summary(now, tools.settings["continuity"]):
            return Done()
        outcome = self._summaries.summarise(now, Path(now.transcript), now.upto, tools)
        return outcome if isinstance(outcome, Done) else Done()

    # pruning

    def _note_time(self, records: Sequence[Record], tools: Tools) -> None:
        """Note the newest record's time. A fresh one confirms a clock that was doubted because all sessions are old."""
        limit = tools.clock.now() + decay.DAY  # a record from the future does not confirm the clock
        times = [one.time for one in records if one.time is not None and one.time <= limit]
        with self._lock:
            self._newest = max([*times, *([self._newest] if self._newest is not None else [])], default=None)
            known, doubted = self._newest, self._clock_doubted
        if doubted and known is not None and not decay.doubt_clock(tools.clock.now(), known):
            self._clock_doubted = False
            tools.post(Due(PRUNE))

    def _prune(self, tools: Tools) -> None:
        limit = tools.clock.now() + decay.DAY  # a session from the future does not confirm the clock either
        times = [one.last_active for one in self._store.list_sessions(patient=False)]
        times += [self._newest] if self._newest is not None else []
        doubt = decay.doubt_clock(tools.clock.now(), max((at for at in times if at <= limit), default=None))
        self._clock_doubted = bool(doubt)
        if doubt:
            tools.degrade(Degradation(CLOCK, doubt, "set the clock; until then no session is removed"))
            return
        tools.clear(CLOCK)
        self._store.prune_sessions(tools.clock.now())
        broken = self._store.list_broken()
        if broken:
            tools.degrade(Degradation(BROKEN, broken[0], "correct it by hand, or remove it"))
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
