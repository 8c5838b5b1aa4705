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
from tacitd.events import Due, Event, Project, Record, TranscriptGrew
from tacitd.files.busy_files import retry_while_changing
from tacitd.files.replaced import UNGUARDED, replace_file
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Outcome, Tools
from tacitd_handlers.learner.learner_paths import resolve_paths, shorten_path
from tacitd_handlers.learner.learner_store import FilesInStep, LearnerStore
from tacitd_handlers.learner.notices import find_retests, list_archivable
from tacitd_handlers.learner.practice_record import record_problem
from tacitd_handlers.learner.practice_report import find_reports, parse_report, report_id, uses_skill
from tacitd_handlers.learner.session_stamps import state_text
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
        """The counts of the two files, as of the last look."""
        self._places: set[str] = set()
        """The projects of teaching sessions that are noted."""
        self._first = True
        self._store: LearnerStore
        self._settings: LearnerSettings

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Restore the teaching sessions and the reports taken from the commits, then reconcile the files (SPEC L-37)."""
        self._settings = tools.settings.get("learner") or LearnerSettings()
        where = resolve_paths(self._environ, self._settings.profile, self._settings.ledger, tools.home)
        guards = tools.guards or UNGUARDED
        self._store = LearnerStore(where, tools.clock, settle=self._settings.settle, guards=guards)
        self._first = True
        for commit in commits:
            self._fold(commit.data)
        self._check_files(tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Record the reports of new records, and run the jobs; ignore other events. Raises OSError, FileRefusedError."""
        match event:
            case TranscriptGrew():
                return self._handle_growth(event, tools)
            case Due(job="check"):
                self._check_files(tools)
            case Due(job="retests"):
                self._update_status(tools)
            case Due(job="compaction", session=session) if session in self._teaching:
                self._save_session_state(session, local_minutes(self._began.get(session, tools.clock.now())))
            case _:
                pass
        return Done()

    # transcripts

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        times = [one.time for one in event.records if one.time is not None]
        first = min([*times, self._began.get(event.session, tools.clock.now())])
        self._began[event.session], began = first, local_minutes(first)
        known = event.session in self._teaching
        records = event.records if known else self._from_the_skill_on(event.records)
        if not records:
            return Done()
        self._note_place(event, began)
        taken, refused = self._record_reports(records, event.session, began, tools)
        if any(one.summary for one in records):
            self._save_session_state(event.session, began)
        # The session is known to teach already, so without a report there is nothing to commit.
        if known and not taken and not refused:
            return Done()
        data = {"kind": "teaching", "session": event.session, "began": first}
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
        self, records: Sequence[Record], session: str, began: str, tools: Tools
    ) -> tuple[list[str], list[str]]:
        """Record the reports in these records; return their ids, and why some were refused."""
        taken: list[str] = []
        refused: list[str] = []
        for one in records:
            for given in find_reports(one.text):
                id = report_id(one, given)
                if id in self._reports or id in taken:
                    continue
                try:
                    self._record_report(given, one.session or session, began)
                except FileRefusedError:
                    raise
                except TacitdError as error:
                    logger.warning("refused a report of session {}: {}", session, error.what)
                    refused.append(f"{session}: {error.what}")
                taken.append(id)
        if taken:
            self._update_status(tools)
        return taken, refused

    def _record_report(self, given: dict[str, Any], session: str, began: str) -> None:
        report = parse_report(given)
        with self._store.locked():
            at = self._store.stamp_session(report.session or session, report.stamp, began)
            record_problem(self._store, report, at, self._settings.plan)

    def _note_place(self, event: TranscriptGrew, began: str) -> None:
        """Note the project of a teaching session: later sessions there get the learner's blocks at their start."""
        root = str(event.project.root) if isinstance(event.project, Project) else ""
        if root and root not in self._places:
            with self._store.locked():
                self._store.stamp_session(event.session, "", began, root=root)
            self._places.add(root)

    def _save_session_state(self, session: str, began: str) -> None:
        """At a compaction, write the session-state file, so that the session keeps its id and stamp."""
        where = self._store.places
        with self._store.locked():
            at = self._store.stamp_session(session, "", began)
        text = state_text(at, shorten_path(where.profile, where.user))
        replace_file(where.session_state, text.encode(), mode=0o600)

    # the two files

    def _check_files(self, tools: Tools) -> None:
        """Bring the two files in step. An error becomes a degradation; the next run is in a minute."""
        try:
            done = retry_while_changing(self._check_locked)
        except FileBusyError:  # an editor has one of them open; the job runs again in a minute
            return
        except FileRefusedError as error:
            tools.degrade(Degradation(FILES, f"the learner's files: {error.what}", error.hint))
            return
        except OSError as error:
            what = f"the learner's files: {error.filename}: {error.strerror}"
            tools.degrade(Degradation(FILES, what, "the files are checked again every minute"))
            return
        tools.clear(FILES)
        if done.result is not None:
            self._report_repairs(done, tools)
        if done.result is not None or self._first:
            self._update_status(tools)
        self._first = False

    def _check_locked(self) -> FilesInStep:
        with self._store.locked():
            return self._store.sync_files(first=self._first)

    def _report_repairs(self, done: FilesInStep, tools: Tools) -> None:
        for move in done.result.moves if done.result is not None else ():
            logger.info("weakness {}: {}", move.tag, move.what)
        if done.added:
            logger.info("appended {} missing rows to the ledger", len(done.added))
        if done.bad:
            what = f"{len(done.bad)} lines of {self._store.places.ledger} are not rows and are skipped"
            tools.degrade(Degradation(ROWS, what, "`tacitd learner check` lists them"))
        else:
            tools.clear(ROWS)

    def _update_status(self, tools: Tools) -> None:
        """Count what the two files contain, for `status` (SPEC L-50)."""
        try:
            state, profile = self._store.load_state(), self._store.read_profile()
        except (OSError, FileRefusedError):
            return  # `_check_files` reports it
        entries = profile.weaknesses if profile is not None else ()
        if not state.rows and profile is None:
            return
        resolved = sum(placed.resolved for placed in entries)
        retests = find_retests(profile, local_minutes(tools.clock.now())) if profile is not None else []
        with self._lock:
            self._shown = {
                "rows": state.rows,
                "active": len(entries) - resolved,
                "resolved": resolved,
                "waiting_for_room": state.waiting,
                "retests": [one.label for one in retests],
                "archivable": [one.tag for one in list_archivable(profile)] if profile is not None else [],
            }

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
            return {**self._shown, "refused": list(self._refused)}
