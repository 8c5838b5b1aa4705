"""The learner's handler: records the reports in transcripts, keeps the two files in step, flags retests.

It calls no model. What a session means is decided in `practice_sync.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loguru import logger

from tacitd.clock import local_minutes
from tacitd.errors import FileBusyError, FileRefusedError, TacitdError
from tacitd.events import (
    Due,
    Event,
    Message,
    Project,
    Record,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    TranscriptGrew,
)
from tacitd.files.busy_files import retry_while_changing
from tacitd.files.replaced import UNGUARDED, replace_file
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Outcome, Tools
from tacitd_handlers.learner.learner_paths import resolve_paths, shorten_path
from tacitd_handlers.learner.notices import find_retests, list_archivable
from tacitd_handlers.learner.practice_record import FilesInStep, LearnerStore, note_session, record_problem
from tacitd_handlers.learner.practice_report import find_reports, parse_report, report_id, uses_skill
from tacitd_handlers.learner.practice_sync import SyncResult
from tacitd_handlers.learner.profile_text import parse_profile
from tacitd_handlers.learner.review_dates import ReviewPlan
from tacitd_handlers.learner.session_stamps import SessionStamp, resolve_session, state_text
from tacitd_handlers.learner.session_start import read_session_state
from tacitd_handlers.learner.settings import LearnerSettings

FILES = "learner.files"
ROWS = "learner.rows"
REFUSED = 10
"""Refused reports kept for `status`, the newest."""


class LearnerHandler(BaseHandler):
    """Seed 000 as a handler of the daemon."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._lock = threading.Lock()
        self._teaching: set[str] = set()
        self._reports: set[str] = set()
        self._began: dict[str, float] = {}
        """By session, the time of its earliest record: seconds since 1970, UTC."""
        self._refused: list[str] = []
        self._shown: dict[str, Any] = {}
        self._places: set[str] = set()
        """The projects of teaching sessions that are noted."""
        self._recorded = 0
        self._first = True
        self._store: LearnerStore
        self._plan: ReviewPlan
        self._settings: LearnerSettings

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Restore the teaching sessions and the reports taken from the commits, then reconcile the files (SPEC L-37)."""
        settings = tools.settings.get("learner") or LearnerSettings()
        self._settings = settings
        self._plan = ReviewPlan(settings.grow_only_when_due, settings.longest_interval)
        where = resolve_paths(self._environ, settings.profile, settings.ledger, tools.home)
        guards = tools.guards or UNGUARDED
        self._store = LearnerStore(where, tools.clock, settle=settings.settle, guards=guards)
        self._first = True
        for commit in commits:
            self._fold(commit.data)
        self._check_files(tools)
        if "rows" not in self._shown:
            self._show_known_counts(tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Record the reports of new records, and run the jobs; ignore other events."""
        match event:
            case TranscriptGrew():
                return self._handle_growth(event, tools)
            case Due(job="check"):
                self._check_files(tools)
                return Done()
            case Due(job="retests"):
                self._update_retests(tools)
                return Done()
            case Due(job="compaction", session=session):
                if session in self._teaching:
                    began = self._began.get(session, tools.clock.now())
                    self._save_session_state(session, local_minutes(began))
                return Done()
            case Due() | SessionStarted() | SessionEnded() | SourceChanged() | Message():
                return Done()

    # transcripts

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        times = [one.time for one in event.records if one.time is not None]
        began = min([*times, self._began.get(event.session, tools.clock.now())])
        self._began[event.session] = began
        known = event.session in self._teaching
        records = event.records if known else self._from_the_skill_on(event.records)
        if not records:
            return Done()
        self._note_session(event, local_minutes(began))
        taken, refused = self._record_reports(records, event.session, local_minutes(began))
        if any(one.summary for one in records):
            self._save_session_state(event.session, local_minutes(began))
        # The session is known to teach already, so without a report there is nothing to commit.
        if known and not taken and not refused:
            return Done()
        data = {"kind": "teaching", "session": event.session, "began": began}
        data |= {"reports": taken, "refused": refused}
        self._fold(data)
        return Done(data=data)

    def _from_the_skill_on(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records from the first use of the skill on.

        Earlier ones are ignored, also in the same batch (SPEC X-10).
        """
        skills = self._settings.skills
        files = {self._store.places.profile.name, self._store.places.ledger.name}
        first = next((n for n, one in enumerate(records) if uses_skill(one, skills, files)), len(records))
        return records[first:]

    def _record_reports(
        self, records: Sequence[Record], session: str, began: str
    ) -> tuple[list[str], list[str]]:
        """Record the reports in these records. Raises OSError, FileRefusedError: the event is then retried."""
        taken: list[str] = []
        refused: list[str] = []
        for one in records:
            for given in find_reports(one.text):
                id = report_id(one, given)
                if id in self._reports or id in taken:
                    continue
                trouble = self._record_report(one, given, session, began)
                taken.append(id)
                refused += [trouble] if trouble else []
        return taken, refused

    def _record_report(self, one: Record, given: dict[str, Any], session: str, began: str) -> str:
        """Record one report. Returns why it is refused, otherwise ""."""
        try:
            report = parse_report(given)
            at = self._resolve_session(report.session or one.session or session, report.stamp, began)
            with self._store.locked():
                made = record_problem(self._store, report, at, self._plan)
        except FileRefusedError:
            raise
        except TacitdError as error:
            logger.warning("refused a report of session {}: {}", session, error.what)
            return f"{session}: {error.what}"
        self._recorded += not made.again
        if made.result is not None:
            self._update_status(made.result)
        return ""

    def _resolve_session(self, session: str, stamp: str, began: str) -> SessionStamp:
        """The session's one stamp (SPEC L-48), stored at its first use."""
        with self._store.locked():
            state = self._store.load_state()
            known = {name: record.stamp for name, record in state.sessions.items()}
            at = resolve_session(session, stamp, known, read_session_state(self._store.places), began)
            if at.session not in known and not stamp:
                note_session(state, at)
                self._store.save_state(state)
        return at

    def _note_session(self, event: TranscriptGrew, began: str) -> None:
        """Note the project of a teaching session: later sessions there get the learner's blocks at their start."""
        project = event.project
        if isinstance(project, Project) and str(project.root) not in self._places:
            at = self._resolve_session(event.session, "", began)
            with self._store.locked():
                self._store.change_state(lambda state: note_session(state, at, root=str(project.root)))
            self._places.add(str(project.root))

    def _save_session_state(self, session: str, began: str) -> None:
        """At a compaction, write the session-state file, so that the session keeps its id and stamp."""
        where = self._store.places
        text = state_text(self._resolve_session(session, "", began), shorten_path(where.profile, where.user))
        replace_file(where.session_state, text.encode(), mode=0o600)

    # scheduled jobs

    def _check_files(self, tools: Tools) -> None:
        """Bring the two files in step. An error becomes a degradation; the next run is in a minute."""
        try:
            done = retry_while_changing(self._check_locked)
        except FileBusyError:  # an editor has one of them open; the job runs again in a minute
            return
        except (OSError, FileRefusedError) as error:
            what = (
                error.what if isinstance(error, FileRefusedError) else f"{error.filename}: {error.strerror}"
            )
            hint = (
                error.hint
                if isinstance(error, FileRefusedError)
                else "the files are checked again every minute"
            )
            tools.degrade(Degradation(FILES, f"the learner's files: {what}", hint))
            return
        tools.clear(FILES)
        self._first = False
        if done.result is not None:
            self._report_repairs(done, tools)
            self._update_status(done.result)
            self._update_retests(tools)

    def _check_locked(self) -> FilesInStep:
        with self._store.locked():
            return self._store.sync_files(first=self._first)

    def _report_repairs(self, done: FilesInStep, tools: Tools) -> None:
        if done.added:
            logger.info("appended {} missing rows to the ledger", len(done.added))
        if done.bad:
            what = f"{len(done.bad)} lines of {self._store.places.ledger} are not rows and are skipped"
            tools.degrade(Degradation(ROWS, what, "`tacitd learner check` lists them"))
        else:
            tools.clear(ROWS)

    def _update_status(self, result: SyncResult) -> None:
        """Update the counts for `status`, and log the moves (SPEC L-28)."""
        for move in result.moves:
            logger.info("weakness {}: {}", move.tag, move.what)
        with self._lock:
            self._shown |= {
                "rows": result.rows,
                "active": result.active,
                "resolved": result.resolved,
                "waiting_for_room": result.state.waiting,
            }

    def _show_known_counts(self, tools: Tools) -> None:
        """Show the counts of the last run: the files are not compared while somebody may still be writing them."""
        try:
            state, data = self._store.load_state(), self._store.read_profile()
            entries = parse_profile(data).weaknesses if data is not None else ()
        except (OSError, FileRefusedError):
            return  # `_check_files` reports it
        if state.rows:
            resolved = sum(placed.resolved for placed in entries)
            with self._lock:
                self._shown |= {"rows": state.rows, "active": len(entries) - resolved, "resolved": resolved}
                self._shown["waiting_for_room"] = state.waiting
            self._update_retests(tools)

    def _update_retests(self, tools: Tools) -> None:
        """Update the list of retests for `status` (SPEC L-50)."""
        try:
            data = self._store.read_profile()
            profile = parse_profile(data) if data is not None else None
            now = local_minutes(tools.clock.now())
            found = find_retests(profile, now) if profile is not None else []
        except (OSError, FileRefusedError):
            return  # `_check_files` reports it
        with self._lock:
            self._shown["retests"] = [one.label for one in found]
            self._shown["archivable"] = (
                [one.tag for one in list_archivable(profile)] if profile is not None else []
            )

    # commits and status

    def committed(self, commit: Commit, tools: Tools) -> None:
        """Remember the reports that were taken. The files are written already."""
        self._fold(commit.data)

    def _fold(self, data: Mapping[str, Any]) -> None:
        if data.get("kind") != "teaching":
            return
        with self._lock:
            session, began = str(data["session"]), data.get("began")
            self._teaching.add(session)
            if isinstance(began, int | float):
                self._began.setdefault(session, began)
            self._reports.update(data.get("reports", ()))
            new = [text for text in data.get("refused", ()) if text not in self._refused]
            self._refused = [*self._refused, *new][-REFUSED:]

    def status(self) -> Mapping[str, Any]:
        """The counts of the two files, the learner's retests and pending entries, and the refused reports."""
        with self._lock:
            return {
                **self._shown,
                "recorded": self._recorded,
                "teaching_sessions": len(self._teaching),
                "refused": list(self._refused),
            }
