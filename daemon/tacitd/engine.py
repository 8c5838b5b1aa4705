"""The loop: notices growth, reads it, dispatches it to handlers, and answers requests.

One thread owns everything. Other threads (socket, workers) only put a function into the inbox and wake the loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from loguru import logger
from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.consumers.consumer import Consumer, make_baseline_records
from tacitd.consumers.cursor_table import Cursor, share_cursors
from tacitd.dispatch.dispatcher import LONGEST_WAIT, Dispatcher
from tacitd.dispatch.faults import explain_unwritten
from tacitd.dispatch.inbox import Inbox
from tacitd.dispatch.lag_counters import LagCounters
from tacitd.dispatch.pauses import Pause, PausedScopes
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.sync_waiters import SyncWaiter, SyncWaiters
from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.dispatch.work_notes import WorkNotes
from tacitd.errors import TacitdError
from tacitd.events import Due, NoProject, Project, SessionEnded, SessionStarted
from tacitd.handler import Degradation
from tacitd.schedule import Schedule
from tacitd.sources.base import SessionHint, Source
from tacitd.sources.follow import Follower
from tacitd.sources.growth_breaker import GrowthBreaker
from tacitd.sources.position import find_baselines
from tacitd.sources.sessions import EndedSession, Sessions
from tacitd.sources.transcript import Tail

T = TypeVar("T")

HOUSEKEEPING = 50.0
"""Seconds. A person's edit of a handler's file is found then, and is to be followed within a minute."""
RESCUE = 3600.0
JUMP = 5.0
"""Seconds by which the wall clock may drift between two passes of the loop before it counts as a jump."""
FAULTS = 10
"""Failed passes in a row after which the loop ends."""
SHOWN = 600.0
"""Seconds for which a failed pass is a degradation, if no other fails."""
MAX_SLEEP = 60.0
"""Maximum seconds between two passes."""


class SessionPlace(Struct, frozen=True):
    """The directory in which a session works, from its transcript."""

    cwd: str
    project: Project | NoProject
    is_new_session: bool
    """`Tail.is_new_session`: it counts for the growth breaker."""


class EngineHost(Protocol):
    """What the engine calls of the program that it runs in. Engine thread only."""

    def run_housekeeping(self) -> None:
        """Do what is due once a minute and belongs to no part of the engine. Must not raise."""
        ...

    def list_host_degradations(self) -> Sequence[Degradation]:
        """The degradations of the parts that the engine does not know."""
        ...


class Engine(Struct):
    """The parts, and the loop that runs them. `app.py` builds it."""

    clock: Clock
    follower: Follower
    pool: TranscriptPool
    sessions: Sessions
    breaker: GrowthBreaker
    project_of: Callable[[str], Project | NoProject]
    pauses: PausedScopes
    consumers: dict[str, Consumer]
    watched_files: WatchedFiles
    schedule: Schedule
    wake: threading.Event
    source: Source
    dispatcher: Dispatcher
    inbox: Inbox
    host: EngineHost
    sync_waiters: SyncWaiters
    lag: LagCounters
    notes: WorkNotes
    started_at: float = 0.0
    session_places: dict[str, SessionPlace] = field(default_factory=dict)
    """Sessions whose directory is known, until they end."""
    fault: Degradation | None = None
    _fault_count: int = 0
    _fault_at: float = 0.0
    _unwritten: dict[str, Degradation] = field(default_factory=dict)
    """The parts of the state that could not be written, and are tried again."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _next_housekeeping: float = 0.0
    _next_rescue: float = 0.0
    _clocks: tuple[float, float] | None = None
    """Wall and monotonic time of the pass before."""
    _found_mtimes: dict[Path, float] = field(default_factory=dict)
    """Growth that was found at the start or by `scan`, not watched: the mtime of each file, seconds since 1970."""
    _compacting: dict[Path, str] = field(default_factory=dict)
    """The sessions that a client is about to compact, by transcript."""
    _nameless: set[Path] = field(default_factory=set)
    """Transcripts in which no complete line names a session yet."""

    # from other threads

    def call_soon(self, work: Callable[[], None]) -> None:
        """Run this in the engine's thread soon."""
        self.inbox.call_soon(work)

    def call(self, work: Callable[[], T], timeout: float | None = 30.0) -> T:
        """Run this in the engine's thread and return what it returns.

        Raises TimeoutError after `timeout` seconds, UnavailableError if the engine has stopped.
        """
        return self.inbox.call(work, timeout)

    def sync(self, timeout: float | None = None) -> None:
        """Return when every byte that exists now is handled or parked. Raises TimeoutError, UnavailableError."""
        waiter = self.call(self._begin_sync, timeout)
        try:
            waiter.future.result(timeout)
        except TimeoutError:
            self.call_soon(lambda: self.sync_waiters.drop_waiter(waiter))
            raise

    def stop(self) -> None:
        """Leave the loop at the end of this pass."""
        self._stop.set()
        self.wake.set()

    # the loop

    def start(self) -> None:
        """Begin to watch, list all transcripts, take those from before the first start as read, find those that are behind."""
        self.started_at = self.clock.now()
        self._clocks = self.started_at, self.clock.monotonic()
        self.follower.start()
        self.follower.list_all()
        known = self.follower.list_own()
        if new := [consumer for consumer in self.consumers.values() if consumer.first_start is None]:
            baselines = list(make_baseline_records(find_baselines(known), now := self.clock.now()))
            for consumer in new:
                consumer.record_first_start(now, baselines)
        share_cursors([consumer.cursors for consumer in self.consumers.values()])
        behind = self.lag.count_all(known)
        self._correct_first_starts()
        self._try_write("rescue", self.dispatcher.settle_rescued)
        for path in behind:
            self.pool.mark_unread(path)
            self._found_mtimes[path] = known[str(path)].mtime_ns / 1e9
        for path, cursor in self._list_open_sessions():
            stamp = known.get(str(path))
            at = stamp.mtime_ns / 1e9 if stamp is not None else cursor.logged_at
            self.sessions.note_growth(path, cursor.session, cursor.cwd, at, mtime=at)
        now = self.clock.monotonic()
        self._next_housekeeping, self._next_rescue = now + HOUSEKEEPING, now + HOUSEKEEPING

    def _correct_first_starts(self) -> None:
        for name, consumer in self.consumers.items():
            self._try_write(f"first start of {name}", consumer.correct_first_start)

    def _list_open_sessions(self) -> Iterator[tuple[Path, Cursor]]:
        """Sessions in which a handler did something and whose end it has not handled: the end is offered after a restart."""
        for consumer in self.consumers.values():
            found = consumer.cursors.iter_unhandled_ends()
            yield from ((cursor.path, cursor) for cursor in found if cursor.session)

    def run(self, on_iteration: Callable[[], None] = lambda: None, max_sleep: float = MAX_SLEEP) -> None:
        """Run passes until `stop`. A pass that fails is logged, shown as a degradation, and repeated. After ten failures in a
        row the exception is raised, so that a service manager restarts the daemon.

        `on_iteration` is called after each pass; the loop sleeps for `max_sleep` seconds at most.
        """
        try:
            while not self._stop.is_set():
                self._run_guarded()
                on_iteration()
                self.wake.wait(min(self._sleep_seconds(), max_sleep))
                self.wake.clear()
        finally:
            self._fail_waiters()

    def _run_guarded(self) -> None:
        try:
            self.run_iteration()
            self._fault_count = 0
        except Exception as error:  # one failed pass must not end the daemon, and is shown
            self._fault_count, self._fault_at = self._fault_count + 1, self.clock.monotonic()
            logger.opt(exception=error).error("a pass of the engine's loop failed")
            self.fault = Degradation(
                "engine.fault", f"a pass of the loop failed: {type(error).__name__}: {error}", "see the log"
            )
            if self._fault_count >= FAULTS:
                raise
            self._stop.wait(min(5.0, 0.05 * 2**self._fault_count))

    def _fail_waiters(self) -> None:
        """No caller may wait for a loop that has ended."""
        self.inbox.close()
        self.sync_waiters.fail_all()

    def _sleep_seconds(self) -> float:
        if self.inbox or self._stop.is_set():
            return 0.0
        if self.pool.unread_paths:
            return LONGEST_WAIT if self.dispatcher.must_reading_wait() else 0.0
        now = self.clock.monotonic()
        nearest = min(
            self.follower.next_in(),
            self.sessions.next_in(),
            self.dispatcher.work_queue.next_in(),
            self.schedule.next_in(),
            self._next_housekeeping - now,
        )
        return max(0.005, min(nearest, MAX_SLEEP))

    def run_iteration(self) -> None:
        """One pass: inbox, growth, reading, ends of sessions, due jobs, offers, housekeeping, syncs."""
        self.inbox.run_pending()
        self._poll_files(full=False)
        self._read_transcripts()
        for ended in self.sessions.take_ended():
            self.end_session(ended)
        self._post_compactions()
        self._post_due()
        self.dispatcher.offer_ready()
        self.lag.note_positions()
        self._housekeeping()
        self.sync_waiters.resolve_settled(self.pool.unread_paths)

    def _poll_files(self, *, full: bool) -> None:
        self._watch_clock()
        changes = self.follower.poll(full=full)
        self.lag.note_files(changes)
        for path in (*changes.created, *changes.changed):
            if self.source.is_subagent(str(path)):
                if (session := self.source.session_of_subagent(path)) is not None:
                    self.sessions.note_subagent(session)
            else:
                self._found_mtimes.pop(path, None)
                self.pool.mark_unread(path)
        for path in changes.vanished:
            self._found_mtimes.pop(path, None)
            self._nameless.discard(path)
            self.pool.mark_vanished(path)
            self._try_write("rescue", lambda path=path: self.dispatcher.rescue_vanished(path))  # type: ignore[misc]

    def _watch_clock(self) -> None:
        """Trigger: the wall clock was set. Why: work that waits for a time of day was planned by the old clock. Outcome: it is
        planned again. The schedule needs no such call, because it reads both clocks each time."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        before, self._clocks = self._clocks, (now, monotonic)
        if before is not None:
            jump = (now - before[0]) - (monotonic - before[1])
            if abs(jump) > JUMP:
                logger.warning("the clock jumped by {:.0f} s", jump)
                self.dispatcher.replan_after_jump(jump)
                self._correct_first_starts()

    def _read_transcripts(self) -> None:
        if self.dispatcher.must_reading_wait():
            return
        for path, tail in self.pool.read_slices():
            if path not in self.pool.unread_paths:  # otherwise an old session would end once for each slice
                if tail.session:
                    self._nameless.discard(path)
                    self._note_session(path, tail)
                else:
                    self._note_nameless(path, tail)
            self.notes.note_read(path, tail)
            self.dispatcher.wake_transcript(path, tail)

    def _note_session(self, path: Path, tail: Tail) -> None:
        """The session grew: it is live, and its start is announced."""
        self.sessions.note_growth(
            path, tail.session, tail.cwd, tail.last_time, mtime=self._found_mtimes.get(path)
        )
        self._note_start(path, tail)

    def _note_nameless(self, path: Path, tail: Tail) -> None:
        """Trigger: no record names the session, and bytes without a newline follow. Why: they may be its only record, and are
        read only at the end of a session. Outcome: until then, the session has the name of its file."""
        stamp = self.follower.stamps.get(path)
        if stamp is not None and stamp.size > tail.read_end:
            self._nameless.add(path)
            self.sessions.note_growth(path, path.stem, "", None, mtime=self._found_mtimes.get(path))

    def _note_start(self, path: Path, tail: Tail) -> None:
        """Announce a session in the project in which it works, once for each project.

        Trigger: its first record that names a directory, or one that names another directory. Why: Claude Code begins a
        transcript with records that name none, long before the first prompt. Outcome: a session counts for the directory in
        which its prompts are typed.
        """
        session = tail.session
        if not tail.cwd:
            return
        place = SessionPlace(tail.cwd, self.project_of(tail.cwd), tail.is_new_session)
        before = self.session_places.get(session)
        if place == before:
            return
        self.session_places[session] = place
        if place.is_new_session:
            at = tail.last_time or self.clock.now()
            self.breaker.note_session(place.cwd, session, at, self.sessions.get_client(session))
        self.watched_files.watch_project(place.project)
        if before is None or before.project != place.project:
            self.dispatcher.post_event(SessionStarted(session, path, place.project, self.clock.now()))

    def take_hook_inputs(self, inputs: Iterable[Mapping[str, object]]) -> None:
        """What hooks of the client got from it: a transcript is read now, and a session that ended ends soon.

        Engine thread. An input that is not understood, and a path that is not a transcript of the source, have no effect.
        """
        hooks = self.source.hooks
        for hint in () if hooks is None else map(hooks.read_hint, inputs):
            if hint is not None:
                self._take_hint(hint)

    def _take_hint(self, hint: SessionHint) -> None:
        if hint.ended:
            self.sessions.note_left(hint.session)
        else:
            self.sessions.note_returned(hint.session)
        path = self.follower.note_hint(hint.transcript, at_once=hint.ended or hint.compacts)
        if hint.compacts and path is not None:
            self._compacting[path] = hint.session

    def _post_compactions(self) -> None:
        """Announce the compactions of transcripts that are read."""
        for path in [one for one in self._compacting if one not in self.pool.unread_paths]:
            session, tail = self._compacting.pop(path), self.pool.get_tail(path)
            if tail is not None:
                self.dispatcher.post_compaction(path, session, self.project_of(tail.cwd))

    def end_session(self, ended: EndedSession) -> None:
        """A session ended: its queued prompts count as sent, and each handler that did or will do something in it gets the
        event."""
        tail = self.pool.release_queued(ended.path)
        if ended.path in self._nameless:
            self._nameless.discard(ended.path)
            if tail is not None and tail.session:
                self._note_start(ended.path, tail)  # its only record had no newline
        # Its folder was renamed, or it continued in another file.
        others = self.pool.find_by_session(ended.session)
        for path in (ended.path, *others):
            if (released := self.pool.release_queued(path)) is not None:
                self.dispatcher.wake_transcript(path, released)
        self.session_places.pop(ended.session, None)
        for name, consumer in self.consumers.items():
            cursor = consumer.get_cursor(ended.path)
            is_behind = tail is not None and cursor.offset < tail.safe_end
            if is_behind or cursor.has_unhandled_end:
                cwd = (tail.cwd if tail is not None else "") or cursor.cwd
                event = SessionEnded(ended.session, ended.path, self.project_of(cwd), ended.at, ended.why)
                self.dispatcher.post_event(event, only=name)

    def _housekeeping(self) -> None:
        now = self.clock.monotonic()
        if now < self._next_housekeeping:
            return
        self._next_housekeeping = now + HOUSEKEEPING
        self.pool.retry_unreadable()
        self.pool.evict_idle(self.sessions.is_live)
        # After `evict_idle`: examining an item opens its transcript.
        self.dispatcher.work_queue.forget_closed(self.pool.is_open)
        self.notes.forget_closed(self.pool.is_open)
        if self.fault is not None and now - self._fault_at > SHOWN:
            self.fault = None
        self._correct_first_starts()  # again, in case it could not be written
        self.save_positions()
        self.check_sources()
        self.host.run_housekeeping()
        if now >= self._next_rescue:
            self._next_rescue = now + RESCUE
            self._try_write("rescue", self.dispatcher.rescue_old)

    def save_positions(self) -> None:
        """Write positions that moved without a commit. A failed write is a degradation, and is tried again."""
        for name, consumer in self.consumers.items():
            self._try_write(f"positions of {name}", consumer.save_positions)

    def save_jobs(self) -> None:
        """Write when each job last succeeded, before the daemon stops. If it fails, the interval begins again."""
        for name, consumer in self.consumers.items():
            self._try_write(f"jobs of {name}", consumer.save_jobs)

    def _try_write(self, what: str, work: Callable[[], None]) -> None:
        """Run `work`. A failed write becomes a degradation; the loop continues."""
        try:
            work()
        except (OSError, TacitdError) as error:
            later = explain_unwritten(error)
            logger.warning("{}: {}", what, later.reason)
            self._unwritten[what] = Degradation("state.unwritable", f"{what}: {later.reason}", later.hint)
        else:
            self._unwritten.pop(what, None)

    def _post_due(self) -> None:
        for name, job in self.schedule.take_due():
            self.dispatcher.post_event(Due(job), only=name)

    def check_sources(self) -> None:
        """Post the changes of the files that handlers watch, without waiting for the next comparison. Engine thread."""
        for name, event in self.watched_files.poll_changes():
            self.dispatcher.post_event(event, only=name)

    # sync

    def _begin_sync(self) -> SyncWaiter:
        behind = self._read_behind()
        for path in behind:
            self.dispatcher.work_queue.list_items_of(path)  # makes the items that `make_all_due` makes due
        self.pool.retry_unreadable()
        self.dispatcher.make_all_due()
        return self.sync_waiters.add_waiter(behind)

    def _read_behind(self) -> dict[Path, int]:
        """Read the transcripts that some handler has not handled to their end; return them with their sizes."""
        self._poll_files(full=True)
        self.check_sources()
        own = self.follower.list_own()
        self.lag.count_all(own)  # and not the counts so far: what waits here is not to rest on them
        # Unread files count as behind: one that was replaced by a smaller file is behind no position until it is read.
        paths = self.lag.list_behind() | set(self.pool.unread_paths)
        behind = {path: own[str(path)].size for path in paths if str(path) in own}
        for path in behind:
            self.pool.read_to_end(path, behind[path])
        return behind

    # asked for by a person

    def set_pause(self, pause: Pause, *, held: bool) -> bool:
        """Pause, or resume and open the growth breaker; return whether that changed anything. Engine thread.

        Raises OSError if it cannot be written; then the pause does not change.
        """
        for path in self._read_behind() if not held else ():  # what was typed just now is counted too
            self.dispatcher.unhandled.note_paused(path)
        is_covered = partial(self.dispatcher.unhandled.is_covered, pause)
        changed = not held and self.breaker.release_sessions(is_covered)
        try:
            if self.pauses.would_change(pause, held):
                self.pauses.set_paused(pause, held)
                changed = True
        finally:  # the breaker may be open already, and its sessions must not wait for another command
            if changed and not held:
                self.dispatcher.resume_paused()
        return changed

    def rewind_transcripts(self, paths: Sequence[Path], floor: float, only: Sequence[str] = ()) -> int:
        """Read transcripts from their first byte again, for prompts not older than `floor`, of the projects with these
        roots (empty: of all). Engine thread.

        Returns the number of transcripts among `paths`; other files are not read.
        """
        stamps = self.follower.stamps
        known = [path for path in paths if path in stamps and not self.source.is_subagent(str(path))]
        self.pauses.note_scan()
        for consumer in self.consumers.values():
            if consumer.plugin.uses_model:
                consumer.rewind_transcripts(known, floor, only)
        for path in known:
            self.reread_transcript(path)
        return len(known)

    def reread_transcript(self, path: Path) -> None:
        """Read an existing transcript again after its cursors were set back. Engine thread."""
        self._found_mtimes[path] = self.follower.stamps[path].mtime_ns / 1e9
        self.notes.forget_transcript(path)
        self.pool.reopen_transcript(path)
        self.dispatcher.work_queue.restart_transcript(path, due=True)

    def list_degradations(self) -> list[Degradation]:
        """All degradations. Engine thread."""
        found = [
            *self.follower.list_degradations(),
            *self.breaker.list_degradations(),
            *self.pool.list_degradations(),
        ]
        found += self._unwritten.values()
        if self.fault is not None:
            found.append(self.fault)
        return [*found, *self.host.list_host_degradations()]
