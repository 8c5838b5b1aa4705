"""The handler of sessions: it updates each session's file from its transcript, adds a summary, and prunes old files.

It does not depend on a session's end, which may never come: the file is updated whenever the transcript grows, and idle
time also ends a session. What a transcript says belongs to `session_progress` and `tasks`, what a file contains to `render`.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Due, Event, NoProject, Project, SessionEnded, ToolAnswer, TranscriptGrew
from tacitd.files.replaced import UNGUARDED
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd_handlers.continuity import parse, render, summary_input
from tacitd_handlers.continuity.session_progress import TranscriptProgress, end_session, fold_records
from tacitd_handlers.continuity.settings import ContinuitySettings
from tacitd_handlers.continuity.store import SessionStore
from tacitd_handlers.continuity.tasks import ToolCall
from tacitd_handlers.shared import decay

PRUNE = "sessions"
BROKEN, CLOCK = "continuity.broken", "continuity.clock"
TRIES = 3
"""Unusable answers after which a session gets no summary."""


class ContinuityHandler(BaseHandler):
    """The handler of seed 001's sessions.

    Events of one project are handled one after the other, those of two projects at the same time: hence the lock.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._store: SessionStore
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Open the store, and count earlier summaries."""
        self._store = SessionStore.from_environ(self._env, tools.clock, tools.home, tools.guards or UNGUARDED)
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

    def _count(self, commit: Commit) -> None:
        if "summary" in commit.data:
            self._counts[str(commit.data["summary"])] += 1

    def status(self) -> Mapping[str, Any]:
        """Return `directory`, the number of `sessions`, and `summaries`: the counts of `made` and `none`."""
        return {
            "directory": str(self._store.folder),
            "sessions": sum(1 for _ in self._store.folder.glob("session-*.json")),
            "summaries": dict(self._counts),
        }

    # growth

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        if _unwanted(event.project, tools):
            return Done()
        # One transcript may contain records of several sessions: the record's session counts, not the file's name.
        by_session: dict[str, list[Any]] = {}
        for record in event.records:
            by_session.setdefault(record.session or event.session, []).append(record)
        for session, records in by_session.items():
            if session:
                before = self._load_progress(session, event.transcript, event.start, tools)
                now = fold_records(
                    before, records, lambda calls: _read_answers(event.transcript, calls, event.end, tools)
                )
                self._write_session(now)
        tools.clear(BROKEN)
        return Done()

    def _load_progress(self, session: str, transcript: Path, start: int, tools: Tools) -> TranscriptProgress:
        """The progress of a session. Trigger: none is stored, and the transcript is read from its middle. Why: tacitd
        was installed later, or its state is gone. Outcome: the part before is read once, without a model call."""
        known = self._store.load_progress(session)
        if known is not None:
            return known
        before = (
            [one for one in tools.read_records(transcript, 0, start) if one.session in ("", session)]
            if start
            else []
        )
        return fold_records(
            TranscriptProgress(session), before, lambda calls: _read_answers(transcript, calls, start, tools)
        )

    def _write_session(self, now: TranscriptProgress) -> TranscriptProgress:
        """Update the session's file. A session without a typed prompt is a program's, and gets no file."""
        self._store.save_progress(now)
        if not now.prompts:
            return now
        self._store.change_session(now.session, lambda before: render.render_session(before, now))
        # What is in the file now must not be written again: a person may remove it there.
        written = replace(now, told=now.summary, told_notes=now.notes, decisions=())
        if written != now:
            self._store.save_progress(written)
        return written

    # the end

    def _handle_end(self, event: SessionEnded, tools: Tools) -> Outcome:
        known = self._store.load_progress(event.session)
        if known is None or not known.prompts or _unwanted(event.project, tools):
            return Done()
        now = self._write_session(end_session(known))
        settings: ContinuitySettings = tools.settings["continuity"]
        if not settings.summaries or now.prompts - now.asked < settings.min_prompts:
            return Done()
        return self._summarise(now, event, tools)

    def _summarise(self, now: TranscriptProgress, event: SessionEnded, tools: Tools) -> Outcome:
        upto = _size(event.transcript)
        # A transcript that is shorter than before was rewritten, and is summarised from its start.
        start = now.asked_upto if now.asked_upto <= upto else 0
        records = [
            one
            for one in tools.read_records(event.transcript, start, upto)
            if one.session in ("", event.session)
        ]
        found = summary_input.excerpt_parts(records)
        if not found:
            return Done()
        key = f"summary:{event.session}:{upto}"
        # The key changes when the session goes on; what was paid for with it is counted for each prompt.
        parts = tuple(dict.fromkeys(f"summary:{one.id}" for record in records for one in record.prompts))
        ask = ModelRequest(
            summary_input.build_prompt(found, now.items),
            "fast",
            key,
            parts=parts or (key,),
            purpose="session",
        )
        said = tools.model.ask(ask)
        if isinstance(said, NoAnswer):
            return self._unanswered(said, now, upto)
        made = parse.parse_answer(said.text, event.at, summary_input.list_instructions())
        if isinstance(made, str):
            return self._unusable(made, now, upto)
        self._write_session(
            replace(now, summary=made.summary, decisions=made.decisions, asked=now.prompts, asked_upto=upto)
        )
        return Done(data={"summary": "made", "decisions": len(made.decisions), "usd": said.usd})

    def _unanswered(self, no: NoAnswer, now: TranscriptProgress, upto: int) -> Outcome:
        if no.why is Why.REPEATED:
            return self._skip_summary(now, upto)
        what = f"{no.why}: {no.detail}" if no.detail else str(no.why)
        return self._unusable(what, now, upto) if no.blames_the_prompt else Later(what, no.hint, no.retry_at)

    def _unusable(self, why: str, now: TranscriptProgress, upto: int) -> Outcome:
        with self._lock:
            self._failed[now.session] += 1
            failed = self._failed[now.session]
        if failed < TRIES:
            return Later(f"no summary: {why}", "the model is asked again", blame="work")
        logger.info("session {} gets no summary: {}", now.session, why)
        return self._skip_summary(now, upto)

    def _skip_summary(self, now: TranscriptProgress, upto: int) -> Outcome:
        """Go on without a summary. The same part of the transcript is not asked about again."""
        with self._lock:
            self._failed.pop(now.session, None)
        self._write_session(replace(now, asked=now.prompts, asked_upto=upto))
        return Done(data={"summary": "none"})

    # pruning

    def _prune(self, tools: Tools) -> None:
        limit = tools.clock.now() + decay.DAY  # a session from the future does not confirm the clock
        times = (one.last_active for one in self._store.list_sessions(patient=False))
        doubt = decay.doubt_clock(tools.clock.now(), max((at for at in times if at <= limit), default=None))
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


def _unwanted(project: Project | NoProject, tools: Tools) -> bool:
    """Whether a person excluded this directory, so that nothing of it may be stored."""
    if isinstance(project, NoProject):
        return "excludes" in project.reason
    return tools.write_mode(project) == "off"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
