"""The loop: notices growth, reads it, tells handlers, and answers what others ask of it.

One thread owns all of it. Other threads (the socket, the workers) only put a function into the
inbox and wake the loop. Nothing here knows what a handler does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from loguru import logger

from tacitd.clock import Clock
from tacitd.consumer import Consumer, Stream
from tacitd.dispatch import PAUSED, Dispatcher
from tacitd.errors import TacitdError
from tacitd.events import Due, NoProject, Project, SessionEnded, SessionStarted
from tacitd.handler import Degradation, Later
from tacitd.holds import Hold, Holds
from tacitd.inbox import Inbox
from tacitd.model.port import NoAnswer, Why
from tacitd.schedule import Schedule
from tacitd.sources import Sources
from tacitd.syncs import Syncs, Waiting
from tacitd.tails import Tails
from tacitd.transcripts.breaker import Breaker
from tacitd.transcripts.follow import Follower
from tacitd.transcripts.position import Position, baseline
from tacitd.transcripts.sessions import Ended, Sessions, session_of_subagent
from tacitd.transcripts.tail import Tail, is_subagent
from tacitd.turns import Turn, unwritten

T = TypeVar("T")

HOUSEKEEPING = 60.0
RESCUE = 3600.0
JUMP = 5.0
"""Seconds by which the two clocks may drift apart between two turns before it counts as a jump."""
FAULTS = 10
"""Failed turns in a row after which the loop ends."""
SHOWN = 600.0
"""Seconds for which a failed turn is a degradation, if none follows."""
BREAKER_HINT = "`tacitd resume` asks the model about them now; it also goes on by itself when no more begin"
BREAKER_PAUSE = 60.0
"""Seconds at least until work that the growth breaker stopped is tried again."""
ASLEEP = 60.0
"""Seconds between two turns at most, where nobody wants to hear of it more often."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session works, as far as its transcript says."""

    cwd: str
    project: Project | NoProject
    begun: bool
    """`Tail.begun`: it counts for the growth breaker."""


@dataclass(slots=True)
class Engine:
    """The parts, joined, and the loop that runs them. `app.py` builds it."""

    clock: Clock
    follower: Follower
    tails: Tails
    sessions: Sessions
    breaker: Breaker
    project_of: Callable[[str], Project | NoProject]
    holds: Holds
    consumers: dict[str, Consumer]
    sources: Sources
    schedule: Schedule
    wake: threading.Event
    root: Path
    """Claude Code's own directory, below which the transcripts are."""
    dispatcher: Dispatcher = field(init=False)
    snapshot: Callable[[], None] = lambda: None
    """Write what `status` shows where no daemon runs."""
    extra: Callable[[], Sequence[Degradation]] = tuple
    on_turn: Callable[[], None] = lambda: None
    """Called each time the loop came round."""
    asleep: float = ASLEEP
    """Seconds between two turns at most."""
    started: float = 0.0
    started_sessions: dict[str, Place] = field(default_factory=dict)
    """Sessions whose directory is known, until they end."""
    heartbeat: float = 0.0
    """Monotonic seconds: when the loop last came round."""
    fault: Degradation | None = None
    _faults: int = 0
    _fault_at: float = 0.0
    _unwritten: dict[str, Degradation] = field(default_factory=dict)
    """What of our own state cannot be written now, and is tried again."""
    _inbox: Inbox = field(init=False)
    _syncs: Syncs = field(default_factory=Syncs)
    _stop: threading.Event = field(default_factory=threading.Event)
    _next_housekeeping: float = 0.0
    _next_rescue: float = 0.0
    _clocks: tuple[float, float] | None = None
    """Wall and monotonic time of the turn before."""
    _found: dict[Path, float] = field(default_factory=dict)
    """Growth that was found, not watched: when each file was last written, seconds since 1970."""

    _nameless: set[Path] = field(default_factory=set)
    """Transcripts of which no complete line names a session yet."""

    def __post_init__(self) -> None:
        self._inbox = Inbox(self.wake)
        self.tails.on_rewritten = lambda path: self.dispatcher.again(path)

    # from other threads

    def post(self, work: Callable[[], None]) -> None:
        """Run this in the engine's thread soon."""
        self._inbox.post(work)

    def call(self, work: Callable[[], T], timeout: float | None = 30.0) -> T:
        """Run this in the engine's thread and return what it returns.

        Raises TimeoutError after `timeout` seconds, UnavailableError when the engine has ended.
        """
        return self._inbox.call(work, timeout)

    def sync(self, timeout: float | None = None) -> None:
        """Return when every byte that exists now is handled or parked. Raises TimeoutError, UnavailableError."""
        waiting = self.call(self._begin_sync, timeout)
        try:
            waiting.future.result(timeout)
        except TimeoutError:
            self.post(lambda: self._syncs.forget(waiting))
            raise

    def stop(self) -> None:
        """Leave the loop at the end of this turn."""
        self._stop.set()
        self.wake.set()

    # the loop

    def start(self) -> None:
        """First listing: watch, take what was there before the first start as read, find what is behind."""
        self.started = self.clock.now()
        self._clocks = self.started, self.clock.monotonic()
        self.follower.start()
        self.follower.poll(full=True)
        known = {path: stamp for path, stamp in self.follower.stamps.items() if not is_subagent(path)}
        for consumer in self.consumers.values():
            if consumer.born is None:
                consumer.begin(dict(_baselines(known)))
        self._reborn()
        self._write("rescue", self.dispatcher.settle_rescued)
        for path, stamp in known.items():
            if any(c.stands(path) != stamp.size for c in self.consumers.values()):
                self.tails.grew(path)
                self._found[path] = stamp.mtime_ns / 1e9
        for path, stream in self._open_ended():
            at = known[path].mtime_ns / 1e9 if path in known else stream.touched
            self.sessions.grew(path, stream.session, stream.cwd, at, mtime=at)
        now = self.clock.monotonic()
        self._next_housekeeping, self._next_rescue = now + HOUSEKEEPING, now + HOUSEKEEPING

    def _reborn(self) -> None:
        for name, consumer in self.consumers.items():
            self._write(f"first start of {name}", consumer.reborn)

    def _open_ended(self) -> Iterator[tuple[Path, Stream]]:
        """Sessions that were handled, and whose end was not: it is offered again after a restart."""
        for consumer in self.consumers.values():
            for path, stream in list(consumer.streams.items()):
                if stream.unended and stream.session:
                    yield path, stream

    def run(self) -> None:
        """Turn until `stop`. A turn that fails is logged, shown, and done again; after ten in a row the loop ends with
        what was raised, so that a service manager starts anew."""
        try:
            while not self._stop.is_set():
                self._guarded_turn()
                self.on_turn()
                self.wake.wait(self._pause())
                self.wake.clear()
        finally:
            self._abandon()

    def _guarded_turn(self) -> None:
        try:
            self.turn()
            self._faults = 0
        except Exception as error:  # one bad turn must not end the daemon, and must not be hidden either
            self._faults, self._fault_at = self._faults + 1, self.clock.monotonic()
            logger.opt(exception=error).error("a turn of the engine failed")
            self.fault = Degradation(
                "engine.fault", f"a turn failed: {type(error).__name__}: {error}", "see the log"
            )
            if self._faults >= FAULTS:
                raise
            self._stop.wait(min(5.0, 0.05 * 2**self._faults))

    def _abandon(self) -> None:
        """Nobody must wait for a loop that has ended."""
        self._inbox.close()
        self._syncs.abandon()

    def _pause(self) -> float:
        if self._inbox or self.tails.unread or self._stop.is_set():
            return 0.0
        now = self.clock.monotonic()
        nearest = min(
            self.follower.next_in(),
            self.sessions.next_in(),
            self.dispatcher.agenda.next_in(),
            self.schedule.next_in(),
            self._next_housekeeping - now,
        )
        return max(0.005, min(nearest, self.asleep))

    def turn(self) -> None:
        """Once around: inbox, growth, reading, ends of sessions, jobs that are due, offers, syncs."""
        self.heartbeat = self.clock.monotonic()
        self._inbox.run()
        self._look(full=False)
        self._read()
        for ended in self.sessions.tick():
            self.ended(ended)
        self._post_due()
        self.dispatcher.tick()
        self._housekeeping()
        self._check_syncs()

    def _look(self, *, full: bool) -> None:
        self._watch_clock()
        changes = self.follower.poll(full=full)
        for path in (*changes.born, *changes.changed):
            if is_subagent(path):
                if (session := session_of_subagent(path)) is not None:
                    self.sessions.touched(session)
            else:
                self._found.pop(path, None)
                self.tails.grew(path)
        for path in changes.vanished:
            self._found.pop(path, None)
            self._nameless.discard(path)
            self.tails.gone(path)
            self._write("rescue", lambda path=path: self.dispatcher.vanished(path))  # type: ignore[misc]

    def _watch_clock(self) -> None:
        """Trigger: the wall clock was set. Why: what waits for a time of day was planned by the old clock. Outcome: it is
        planned anew. The schedule needs no such call: it reads both clocks whenever it is asked."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        before, self._clocks = self._clocks, (now, monotonic)
        if before is not None:
            jump = (now - before[0]) - (monotonic - before[1])
            if abs(jump) > JUMP:
                logger.warning("the clock jumped by {:.0f} s", jump)
                self.dispatcher.jumped(jump)
                self._reborn()

    def _read(self) -> None:
        for path, tail in self.tails.read():
            if tail.session and not self.tails.waits(
                path
            ):  # else an old session would end once for each slice
                self._nameless.discard(path)
                self._note_session(path, tail)
            elif not tail.session and not self.tails.waits(path):
                self._note_nameless(path, tail)
            self.dispatcher.grew(path)

    def _note_session(self, path: Path, tail: Tail) -> None:
        """The session is live; announce it where it works."""
        self.sessions.grew(path, tail.session, tail.cwd, tail.last_time, mtime=self._found.get(path))
        self._note_start(path, tail)

    def _note_nameless(self, path: Path, tail: Tail) -> None:
        """Trigger: no record names the session, and bytes without a newline follow. Why: they may be its only record, and
        only the end of a session has them read. Outcome: the session has the name of its file until then."""
        stamp = self.follower.stamps.get(path)
        if stamp is not None and stamp.size > tail.read_end:
            self._nameless.add(path)
            self.sessions.grew(path, path.stem, "", None, mtime=self._found.get(path))

    def _note_start(self, path: Path, tail: Tail) -> None:
        """Announce a session where it works, once for each project.

        Trigger: its first record that names a directory, or one that names another. Why: the client begins a transcript
        with records that name none, long before the first prompt. Outcome: a session counts where its words are said.
        """
        session = tail.session
        if not tail.cwd:
            return
        place, before = (
            Place(tail.cwd, self.project_of(tail.cwd), tail.begun),
            self.started_sessions.get(session),
        )
        if place == before:
            return
        self.started_sessions[session] = place
        if place.begun:
            at = tail.last_time or self.clock.now()
            self.breaker.note(place.cwd, session, at, self.sessions.client(session))
        self.sources.know(place.project)
        if before is None or before.project != place.project:
            self.dispatcher.post(SessionStarted(session, path, place.project, self.clock.now()))

    def ended(self, ended: Ended) -> None:
        """A session is over: what was queued in it was said, and every handler that had part in it hears of it."""
        tail = self.tails.release(ended.path)
        if ended.path in self._nameless:
            self._nameless.discard(ended.path)
            if tail is not None and tail.session:
                self._note_start(ended.path, tail)  # its only record had no newline
        others = self.tails.of(ended.session)  # its folder was moved, or it went on elsewhere
        for path in (ended.path, *others):
            if self.tails.release(path) is not None:
                self.dispatcher.grew(path)
        self.started_sessions.pop(ended.session, None)
        for name, consumer in self.consumers.items():
            stream = consumer.stream(ended.path)
            behind = tail is not None and stream.offset < tail.safe_end
            if behind or stream.unended:
                cwd = (tail.cwd if tail is not None else "") or stream.cwd
                event = SessionEnded(ended.session, ended.path, self.project_of(cwd), ended.at, ended.why)
                self.dispatcher.post(event, only=name)

    def _housekeeping(self) -> None:
        now = self.clock.monotonic()
        if now < self._next_housekeeping:
            return
        self._next_housekeeping = now + HOUSEKEEPING
        self.tails.retry()
        self.tails.housekeeping(self.sessions.live)
        self.dispatcher.housekeeping(self.tails.is_open)  # afterwards: looking at a transcript opens it
        if self.fault is not None and now - self._fault_at > SHOWN:
            self.fault = None
        self._reborn()  # where that could not be written down
        self.save()
        self._post_sources()
        self.snapshot()
        if now >= self._next_rescue:
            self._next_rescue = now + RESCUE
            self._write("rescue", self.dispatcher.rescue_old)

    def save(self) -> None:
        """Write positions that moved past things of no interest. What cannot be written is said, and tried again."""
        for name, consumer in self.consumers.items():
            self._write(f"positions of {name}", consumer.save)

    def save_jobs(self) -> None:
        """Write when each job last succeeded, at the end. What cannot be written is said: its interval begins anew."""
        for name, consumer in self.consumers.items():
            self._write(f"jobs of {name}", consumer.save_jobs)

    def _write(self, what: str, work: Callable[[], None]) -> None:
        """A full disk is no reason to fail a turn, and no secret either."""
        try:
            work()
        except (OSError, TacitdError) as error:
            later = unwritten(error)
            logger.warning("{}: {}", what, later.reason)
            self._unwritten[what] = Degradation("state.unwritable", f"{what}: {later.reason}", later.hint)
        else:
            self._unwritten.pop(what, None)

    def _post_due(self) -> None:
        for name, job in self.schedule.take_due():
            self.dispatcher.post(Due(job), only=name)

    def _post_sources(self) -> None:
        for name, event in self.sources.changed():
            self.dispatcher.post(event, only=name)

    # sync

    def _begin_sync(self) -> Waiting:
        self._look(full=True)
        self._post_sources()
        sizes = {p: s.size for p, s in self.follower.stamps.items() if not is_subagent(p)}
        # A file that was replaced by a smaller one is behind no position until it is read.
        behind = {
            p: n
            for p, n in sizes.items()
            if self.tails.waits(p) or any(c.stands(p) < n for c in self.consumers.values())
        }
        for path in behind:
            self.tails.read_to_end(path, behind[path])
            self.dispatcher.expect(path)
        self.tails.retry()
        self.dispatcher.hurry()
        return self._syncs.begin(behind)

    def _check_syncs(self) -> None:
        self._syncs.check(self.tails.unread_paths, self.dispatcher.progress, self.clock.monotonic())

    # asked for by a person

    def hold(self, hold: Hold, *, held: bool) -> bool:
        """Pause or resume, and open the growth breaker; whether that changed anything. Engine thread. Raises OSError where
        it cannot be written down: what was not written does not change."""
        changed = not held and self.breaker.open(lambda cwd, session: self._covers(hold, cwd, session))
        if self.holds.changes(hold, held):
            self.holds.set(hold, held)
            changed = True
        if changed and not held:
            self.dispatcher.resume()
        return changed

    def _covers(self, hold: Hold, cwd: str, session: str) -> bool:
        """Whether a hold of this scope applies to a session in a directory."""
        match hold.scope:
            case "all":
                return True
            case "session":
                return session == hold.name
            case "project":
                project = self.project_of(cwd)
                return isinstance(project, Project) and str(project.root) == hold.name

    def rewind(self, paths: Sequence[Path], floor: float, only: Sequence[str] = ()) -> int:
        """Read transcripts from their first byte again, for prompts not older than `floor`, of the projects with these
        roots (empty: of all). Engine thread.

        Returns how many of them there are: nothing but a transcript is ever read.
        """
        stamps = self.follower.stamps
        known = [path for path in paths if path in stamps and not is_subagent(path)]
        for consumer in self.consumers.values():
            if consumer.slice.pays:
                consumer.rewind(known, floor, only)
        for path in known:
            self.reread(path)
        return len(known)

    def reread(self, path: Path) -> None:
        """Read a transcript that is there again, from where its handlers were set back to. Engine thread."""
        self._found[path] = self.follower.stamps[path].mtime_ns / 1e9
        self.tails.reopen(path)
        self.dispatcher.again(path, due=True)

    def refused(self, turn: Turn, cwd: str) -> Later | None:
        """Why work must wait, whatever the handler thinks of it: paused; or it would be paid for, and the growth breaker is
        closed. Engine thread."""
        cwd = cwd or (turn.stream.cwd if turn.stream is not None else "")
        project: Project | NoProject | None = getattr(turn.event, "project", None)
        if turn.event is None:
            project = self.project_of(cwd)
        session = getattr(turn.event, "session", "") or (
            turn.stream.session if turn.stream is not None else ""
        )
        hold = self.holds.held(project.root if isinstance(project, Project) else None, session)
        if hold is not None:
            what = f"{PAUSED} by you ({hold.scope}{' ' + hold.name if hold.name else ''})"
            return Later(what, "`tacitd resume` goes on")
        unpaid = self.unpaid(turn, cwd) if turn.consumer.slice.pays and turn.stream is not None else None
        return Later(unpaid.reason, unpaid.hint, unpaid.retry_at) if unpaid is not None else None

    def unpaid(self, turn: Turn, cwd: str) -> NoAnswer | None:
        """Why the model is not asked for this work now (the growth breaker); None: it is. Engine thread.

        Work of no session (a job, a changed file) waits if any directory of its project is closed.
        """
        stream, project = turn.stream, getattr(turn.event, "project", None)
        if stream is not None:
            session = stream.session
            why = self.breaker.reason(cwd or stream.cwd, session, self.sessions.client(session))
        elif isinstance(project, Project):
            shut = (one for one in self.breaker.closed_places() if self.project_of(one) == project)
            why = next((found for one in shut if (found := self.breaker.reason(one)) is not None), None)
        else:
            return None
        if why is None:
            return None
        where, seconds = why
        return NoAnswer(
            Why.MANY_SESSIONS, where, BREAKER_HINT, self.clock.now() + max(BREAKER_PAUSE, seconds)
        )

    def degradations(self) -> list[Degradation]:
        """Everything that is not as it should be. Engine thread."""
        found = [*self.follower.degradations(), *self.breaker.degradations(), *self.tails.degradations()]
        found += self._unwritten.values()
        if self.fault is not None:
            found.append(self.fault)
        return [*found, *self.extra()]


def _baselines(paths: Iterable[Path]) -> Iterator[tuple[Path, Position]]:
    """Where reading begins at the first start. What cannot be read then is read when it can be, from its first byte:
    what is in it is older than the first start."""
    for path in paths:
        try:
            yield path, baseline(path)
        except (OSError, TacitdError) as error:
            logger.warning("{}: {}", path, error)
