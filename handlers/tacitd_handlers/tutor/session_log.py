"""The tutor's files: the log of each session, its readable copy, and the log of scores.

    sessions/<id>.jsonl
    {"v": 1, "at": 1763792000.5, "event": "started", "plan": {…}}      the first record
    {"v": 1, "at": …, "event": "Answered", "text": "…"}                one record for each transition

`at` is in seconds since 1970, UTC. A session is replayed from its records. A record that does not parse, or that does not
fit the state, is counted and has no effect. A session is written by one process at a time, which holds its lock. Every
transition is durable before anything that follows from it is shown (SPEC T-24).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from msgspec import ValidationError, to_builtins
from msgspec.json import decode
from msgspec.structs import replace

from tacitd.clock import Clock, SystemClock
from tacitd.errors import UnavailableError, UsageError
from tacitd.files.append_file import append_text
from tacitd.files.atomic import replace_file
from tacitd.files.locks import acquire_lock
from tacitd.text.converter import Converter
from tacitd_handlers.tutor.mastery import MasteryBook
from tacitd_handlers.tutor.session_model import (
    Closed,
    ReplayedSession,
    SessionEvent,
    SessionPlan,
    SessionState,
    TimedEvent,
)
from tacitd_handlers.tutor.session_policy import WrongEventError, advance, is_expired
from tacitd_handlers.tutor.texts import format_session_log

VERSION = 1
STARTED = "started"
_EVENTS = {one.__name__: Converter(one) for one in get_args(SessionEvent)}
_PLAN = Converter(SessionPlan)
_SESSION_ID = re.compile(r"\d{8}-\d{4}-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{4}")


def decode_event(record: Mapping[str, Any]) -> SessionEvent | None:
    """The event of a record; None if it is not one."""
    made = _EVENTS.get(str(record.get("event")))
    if made is None or record.get("v") != VERSION:
        return None
    fields = {key: value for key, value in record.items() if key not in ("v", "at", "event")}
    try:
        event: SessionEvent = made.convert(fields)
    except ValidationError:
        return None
    return event


def encode_start(at: float, plan: SessionPlan) -> dict[str, Any]:
    """The first record of a session."""
    return {"v": VERSION, "at": at, "event": STARTED, "plan": to_builtins(plan)}


def encode_event(at: float, event: SessionEvent) -> dict[str, Any]:
    """The record of an event."""
    return {"v": VERSION, "at": at, "event": type(event).__name__, **to_builtins(event)}


def replay_session(records: Iterable[Mapping[str, Any]]) -> ReplayedSession | None:
    """The session that these records describe; None if they do not begin with the start of one."""
    found: ReplayedSession | None = None
    for record in records:
        at = record.get("at")
        when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
        if found is None:
            plan = _decode_plan(record)
            if plan is None:
                return None
            found = ReplayedSession(SessionState(plan), when or 0.0, when or 0.0)
            continue
        event = decode_event(record)
        try:
            followed = _follow(found, event, found.last if when is None else when) if event else None
        except WrongEventError:
            followed = None
        found = followed or replace(found, bad=found.bad + 1)
    return found


def _decode_plan(record: Mapping[str, Any]) -> SessionPlan | None:
    if record.get("event") != STARTED or record.get("v") != VERSION:
        return None
    try:
        plan: SessionPlan = _PLAN.convert(record.get("plan"))
    except ValidationError:
        return None
    return plan if plan.objectives else None


def _follow(found: ReplayedSession, event: SessionEvent, at: float) -> ReplayedSession:
    """The session after one more event. Raises WrongEventError."""
    after = advance(found.state, event)
    return replace(found, state=after, last=at, events=(*found.events, TimedEvent(at, event, found.state)))


class TutorSession:
    """A session that this process writes. Made by `TutorStore`; its lock is held."""

    def __init__(self, path: Path, clock: Clock, found: ReplayedSession) -> None:
        self.found = found
        self._path = path
        self._clock = clock

    @property
    def state(self) -> SessionState:
        """The state after the last event."""
        return self.found.state

    def record_event(self, event: SessionEvent) -> SessionState:
        """Make a transition; return the new state when it is durable. Raises WrongEventError, OSError, FileRefusedError."""
        now = self._clock.now()
        after = _follow(self.found, event, now)
        _append_record(self._path, encode_event(now, event))
        self.found = after
        return after.state


class TutorStore:
    """All files of the tutor, below its data directory."""

    def __init__(
        self,
        directory: Path,
        clock: Clock | None = None,
        make_token: Callable[[], str] = lambda: secrets.token_hex(2),
    ) -> None:
        self.directory = directory
        self.sessions = Path(directory, "sessions")
        self.mastery = directory / "mastery.jsonl"
        self.clock = clock or SystemClock()
        self.bad = 0
        """Damaged records and logs that the last reading found."""
        self._make_token = make_token

    def list_sessions(self, newest: int = 0) -> list[ReplayedSession]:
        """Every session, or the newest ones, the oldest first. Logs that are none are counted in `bad`. Raises OSError."""
        self.bad, found = 0, []
        names = [path.stem for path in self.sessions.glob("*.jsonl") if _SESSION_ID.fullmatch(path.stem)]
        for id in sorted(names)[-newest:]:
            one = replay_session(self._read_records(self._log_path(id)))
            if one is None or one.state.plan.session != id:
                self.bad += 1
            else:
                self.bad += one.bad
                found.append(one)
        return sorted(found, key=lambda one: one.started)

    def tend_sessions(self) -> list[ReplayedSession]:
        """Close sessions that nobody continued for thirty days (SPEC T-24), write scores and readable copies that a kill left out,
        and list all.

        A session that is open elsewhere is left to its terminal. Raises OSError, FileRefusedError.
        """
        now, tended, sessions = self.clock.now(), [], self.list_sessions()
        recorded, bad = self.read_mastery().sessions, self.bad
        for found in sessions:
            one, id = found, found.state.plan.session
            if found.state.scores is not None and id not in recorded:
                self.record_scores(found.state, found.last)
            if is_expired(found.state, now - found.last) or _lacks_copy(self._log_path(id)):
                with suppress(UnavailableError, UsageError), self.open_session(id) as session:
                    if is_expired(session.state, now - session.found.last):
                        session.record_event(Closed("expired"))
                    one = session.found
            tended.append(one)
        self.bad = bad
        return tended

    @contextmanager
    def start_session(self, plan: SessionPlan) -> Iterator[TutorSession]:
        """Write the start of a new session, whose id is made here, and hold its lock. Raises OSError, FileRefusedError."""
        now = self.clock.now()
        stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M")
        plan = replace(plan, session=f"{stamp}-{plan.node_id}-{self._make_token()}")
        path = self._log_path(plan.session)
        with _locked(path):
            _append_record(path, encode_start(now, plan))
            yield from self._hold_session(path, ReplayedSession(SessionState(plan), now, now))

    @contextmanager
    def open_session(self, id: str) -> Iterator[TutorSession]:
        """Replay a session and hold its lock. Raises UsageError if there is none, UnavailableError if it is open elsewhere."""
        path = self._log_path(id)
        if not _SESSION_ID.fullmatch(id) or not path.exists():
            raise UsageError(f"there is no session {id}", "`tacitd tutor history` lists the sessions")
        with _locked(path):
            found = replay_session(self._read_records(path))
            if found is None:
                raise UsageError(f"{path} is not the log of a session", "move it away")
            yield from self._hold_session(path, found)

    def _hold_session(self, path: Path, found: ReplayedSession) -> Iterator[TutorSession]:
        """Yield a session, and write its readable copy when it is left. Raises OSError."""
        session = TutorSession(path, self.clock, found)
        try:
            yield session
        finally:
            text = format_session_log(session.found).encode("utf-8", "replace")
            replace_file(path.with_suffix(".md"), text, mode=0o600)

    def read_mastery(self) -> MasteryBook:
        """All scores. Damaged records are added to `bad`. Raises OSError."""
        book = MasteryBook()
        for record in self._read_records(self.mastery):
            if not book.fold_record(record):
                self.bad += 1
        return book

    def record_scores(self, state: SessionState, at: float) -> bool:
        """Add a session's scores to the log of mastery, once; return whether they were added. Raises OSError.

        A crash between the session's record and this one is repaired by `tend_sessions`.
        """
        plan = state.plan
        if state.scores is None or plan.session in self.read_mastery().sessions:
            return False
        record = {"at": at, "session": plan.session, "graph": plan.graph, "node": plan.node_id}
        _append_record(self.mastery, {**record, "scores": dict(state.scores)})
        return True

    def _log_path(self, id: str) -> Path:
        return self.sessions / f"{id}.jsonl"

    def _read_records(self, path: Path) -> list[dict[str, Any]]:
        """The records of a log. Lines that are none are added to `bad`. Raises OSError."""
        found, data = [], b""
        with suppress(FileNotFoundError):
            data = read_plain_file(path)
        for line in data.splitlines():
            try:
                record = decode(line)
            except (ValueError, RecursionError):  # also of msgspec, whose errors are ValueErrors
                record = None
            if isinstance(record, dict):
                found.append(record)
            else:
                self.bad += 1
        return found


def read_plain_file(path: Path, most: int = -1) -> bytes:
    """The bytes of an ordinary file, or its first ones. Raises OSError, also if it is no ordinary file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # `open` would leave that of a directory open
        raise OSError(0, "it is not an ordinary file", str(path))
    with open(descriptor, "rb") as file:
        return file.read(most)


def _append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record; it is durable when this returns. Raises OSError, FileRefusedError."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    append_text(path, f"{line}\n".encode("utf-8", "replace"))


def _lacks_copy(log: Path) -> bool:
    """Whether a session was not written as Markdown since its log was. Raises OSError."""
    copy = log.with_suffix(".md")
    return not copy.exists() or copy.stat().st_mtime_ns < log.stat().st_mtime_ns


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a session's log. Raises UnavailableError if another process has it."""
    try:
        lock = acquire_lock(path.with_suffix(".lock"))
    except UnavailableError as error:
        who = error.what.partition(" already")[0]
        raise UnavailableError(
            f"the session {path.stem} is open in {who}", "continue there, or close that terminal first"
        ) from None
    try:
        yield
    finally:
        # Removed while it is held, so that no lock files pile up; `acquire_lock` notices a removed file.
        lock.path.unlink(missing_ok=True)
        lock.release()
