"""The tutor's files: a log of each session, its readable copy, and the log of scores.

A session is written by one process at a time, which holds its lock. Every transition is durable before anything that
follows from it is shown (SPEC T-24).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import UnavailableError, UsageError
from tacitd.files.locks import acquire_lock
from tacitd.files.log import Log
from tacitd.files.replaced import replace_file
from tacitd_handlers.tutor.mastery import MasteryBook
from tacitd_handlers.tutor.session_model import Closed, SessionEvent, SessionPlan, SessionState
from tacitd_handlers.tutor.session_policy import advance, is_expired
from tacitd_handlers.tutor.session_records import (
    ReplayedSession,
    TimedEvent,
    encode_event,
    encode_start,
    replay_session,
)
from tacitd_handlers.tutor.texts import format_session_log
from tacitd_handlers.tutor.tutor_paths import TutorPaths

_SESSION_ID = re.compile(r"\d{8}-\d{4}-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{4}")


class TutorSession:
    """A session that this process writes. Made by `TutorStore`; its lock is held."""

    def __init__(self, log: Log, readable: Path, clock: Clock, found: ReplayedSession) -> None:
        self._log = log
        self._readable = readable
        self._clock = clock
        self.found = found

    @property
    def state(self) -> SessionState:
        """The state after the last event."""
        return self.found.state

    def record_event(self, event: SessionEvent) -> SessionState:
        """Make a transition; return the new state when it is durable. Raises WrongEventError, OSError, LogDamagedError."""
        before = self.found.state
        after = advance(before, event)
        now = self._clock.now()
        self._log.append(encode_event(now, event), sync=True)
        events = (*self.found.events, TimedEvent(now, event, before))
        self.found = replace(self.found, state=after, last=now, events=events)
        self.write_readable()
        return after

    def write_readable(self) -> None:
        """Write the session as Markdown. Raises OSError."""
        replace_file(self._readable, format_session_log(self.found).encode("utf-8", "replace"), mode=0o600)


class TutorStore:
    """All files of the tutor."""

    def __init__(
        self, paths: TutorPaths, clock: Clock, make_token: Callable[[], str] = lambda: secrets.token_hex(2)
    ) -> None:
        self.paths = paths
        self.clock = clock
        self.bad = 0
        """Damaged records and logs that the last reading found."""
        self._make_token = make_token

    def list_sessions(self, newest: int = 0) -> list[ReplayedSession]:
        """Every session, or the newest ones, the oldest first. Logs that are none are counted in `bad`. Raises OSError."""
        self.bad = 0
        found = []
        for path in self._log_paths()[-newest:]:
            log = Log(path, terminated=True)
            one = replay_session(log.read())
            self.bad += log.bad + (one.bad if one is not None else 1)
            if one is not None and one.state.plan.session == path.stem:
                found.append(one)
        return sorted(found, key=lambda one: one.started)

    def tend_sessions(self) -> list[ReplayedSession]:
        """Close sessions that nobody continued for thirty days (SPEC T-24), record scores that a crash left out, and list all.

        A session that is open elsewhere is left to its terminal. Raises OSError, LogDamagedError.
        """
        now, tended, sessions = self.clock.now(), [], self.list_sessions()
        recorded = self.read_mastery().sessions
        for found in sessions:
            one, id = found, found.state.plan.session
            if found.state.scores is not None and id not in recorded:
                self.record_scores(found.state, found.last)
            if is_expired(found.state, now - found.last):
                with suppress(UnavailableError, UsageError), self.open_session(id) as session:
                    if is_expired(session.state, now - session.found.last):
                        session.record_event(Closed("expired"))
                    one = session.found
            tended.append(one)
        return tended

    @contextmanager
    def start_session(self, plan: SessionPlan) -> Iterator[TutorSession]:
        """Write the start of a new session, whose id is made here, and hold its lock. Raises OSError, LogDamagedError."""
        now = self.clock.now()
        stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M")
        plan = replace(plan, session=f"{stamp}-{plan.node_id}-{self._make_token()}")
        with self._locked(plan.session):
            log = Log(self._log_path(plan.session), terminated=True)
            log.append(encode_start(now, plan), sync=True)
            session = self._make_session(log, ReplayedSession(SessionState(plan), now, now, ()))
            session.write_readable()
            try:
                yield session
            finally:
                log.close()

    @contextmanager
    def open_session(self, id: str) -> Iterator[TutorSession]:
        """Replay a session and hold its lock. Raises UsageError if there is none, UnavailableError if it is open elsewhere."""
        if not _SESSION_ID.fullmatch(id) or not self._log_path(id).exists():
            raise UsageError(f"there is no session {id}", "`tacitd tutor history` lists the sessions")
        with self._locked(id):
            log = Log(self._log_path(id), terminated=True)
            found = replay_session(log.read())
            if found is None:
                raise UsageError(f"{log.path} is not the log of a session", "move it away")
            try:
                yield self._make_session(log, found)
            finally:
                log.close()

    def read_mastery(self) -> MasteryBook:
        """All scores. Damaged records are added to `bad`. Raises OSError."""
        log, book = Log(self.paths.mastery, terminated=True), MasteryBook()
        self.bad += sum(not book.fold_record(record) for record in log.read()) + log.bad
        return book

    def record_scores(self, state: SessionState, at: float) -> bool:
        """Add a session's scores to the log of mastery, once; return whether they were added. Raises OSError.

        A crash between the session's record and this one is repaired by `tend_sessions`.
        """
        plan = state.plan
        if state.scores is None or plan.session in self.read_mastery().sessions:
            return False
        record = {"at": at, "session": plan.session, "graph": plan.graph, "node": plan.node_id}
        Log(self.paths.mastery, terminated=True).append_and_close({**record, "scores": dict(state.scores)})
        return True

    def _make_session(self, log: Log, found: ReplayedSession) -> TutorSession:
        return TutorSession(log, log.path.with_suffix(".md"), self.clock, found)

    def _log_path(self, id: str) -> Path:
        return self.paths.sessions / f"{id}.jsonl"

    def _log_paths(self) -> list[Path]:
        try:
            found = sorted(self.paths.sessions.iterdir())
        except FileNotFoundError:
            return []
        return [path for path in found if path.suffix == ".jsonl" and _SESSION_ID.fullmatch(path.stem)]

    @contextmanager
    def _locked(self, id: str) -> Iterator[None]:
        """Hold a session's lock. Raises UnavailableError if another process has it."""
        try:
            lock = acquire_lock(self.paths.locks / f"{id}.lock")
        except UnavailableError as error:
            who = error.what.partition(" already")[0]
            raise UnavailableError(
                f"the session {id} is open in {who}", "continue there, or close that terminal first"
            ) from None
        try:
            yield
        finally:
            # Removed while it is held, so that no lock files pile up; `acquire_lock` notices a removed file.
            lock.path.unlink(missing_ok=True)
            lock.release()
