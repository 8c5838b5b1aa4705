"""The loop: notices growth, reads it, queues what is due, and begins tasks. One thread owns all of it.

It reads transcripts and rows, and decides. It touches no path below a project's root, no git and no file of a person: tasks
do, in the workers. Nothing is kept here that the store does not have, but which sessions grew lately.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loguru import logger

from tacitd.clock import Clock
from tacitd.errors import StoreLostError, TacitdError, UnwritableError
from tacitd.files.row_history import forget_unlisted
from tacitd.files.stalls import PATIENCE, Stalls
from tacitd.handler import Degradation
from tacitd.schedule import Schedule
from tacitd.sources.follow import Follower
from tacitd.sources.lines import find_baselines
from tacitd.sources.sessions import EndedSession, Sessions
from tacitd.sources.source import Source
from tacitd.store import Store
from tacitd.work.activities import forget_old_activities
from tacitd.work.inbox import Inbox, Wake, make_stopped_error
from tacitd.work.old_prompts import FirstStart
from tacitd.work.project_lookup import ProjectLookup, find_missing_projects
from tacitd.work.project_rows import ASKED, Choices, read_choices
from tacitd.work.prompt_rows import doubt_now, forget_old_sessions, forget_old_texts
from tacitd.work.reader import Reader
from tacitd.work.running_plugin import RunningPlugins
from tacitd.work.stored_problems import RecognitionWatch
from tacitd.work.task_rows import (
    ENGINE,
    NewTask,
    ReadyTask,
    end_session,
    find_due_prompts,
    insert_task,
    next_due,
    queue_session_task,
    set_back,
)
from tacitd.work.task_runner import TaskRunner

HOUSEKEEPING = 60.0
FORGETTING = 86_400.0
"""Seconds between two removals of rows that are old."""
JUMP = 5.0
"""Seconds by which the wall clock may drift between two passes."""
FAULTS = 10
"""Failed passes in a row after which the loop ends."""
SHOWN = 600.0
"""Seconds for which a failed pass is a problem, if no other fails."""
READ_AT_MOST = 200
"""Passes of the reader that a command waits for."""
SYNC_JOB = "sources"
"""The engine's job that `sync` begins with: files that people edited are noticed."""
NOTE_EVERY = 1.0
"""Minimum seconds between two notes of the daemon's state while there is more to read."""
BETWEEN = 0.5
"""Seconds between two passes while only tasks end."""
AGAIN = (0.2, 1.0, 5.0, 10.0)
"""Seconds until a pass is tried again that the store refused; the last one is repeated."""
MAX_SLEEP = 60.0
LOOK_EVERY = 3.0
"""Seconds between two looks whether the watchers still run, which cost some microseconds."""
LEAVE_WITHIN = 300.0
"""Seconds that a reload waits for tasks: longer than a model call gets by default."""


@dataclass(eq=False)
class Engine:
    """The parts, and the passes over them. Other threads use `inbox`, `sync`, `leave` and `stop` only."""

    store: Store
    follower: Follower
    reader: Reader
    sessions: Sessions
    runner: TaskRunner
    lookup: ProjectLookup
    stalls: Stalls
    source: Source
    plugins: RunningPlugins
    clock: Clock
    wake: Wake
    note_state: Callable[[], None]
    default_mode: str

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.clock)
        self.inbox = Inbox(self.wake)
        self.recognition = RecognitionWatch()
        self.started_at = self.clock.now()
        self.passed_at = self.started_at
        """When the last pass ended: seconds since 1970, UTC."""
        self.first_start = FirstStart(self.store, self.clock)
        self.fault: Degradation | None = None
        self.choices = Choices()
        self.unfinished: set[int | None] = set()
        """The projects with files that were planned before this start and are not written yet."""
        self.problem: UnwritableError | StoreLostError | None = None
        """Why the last pass could not be committed."""
        self._noted = -math.inf
        self._waiters: list[Future[None]] = []
        self._compacting: dict[Path, str] = {}
        """Sessions that a client is about to compact."""
        self._found_mtimes: dict[Path, float] = {}
        """Of growth that was found at the start, not watched: seconds since 1970."""
        self._clocks: tuple[float, float] | None = None
        self._fault_count, self._fault_at = 0, 0.0
        self._stop = threading.Event()
        self._leaving: float | None = None
        """Since when the loop is to be left: monotonic seconds."""
        self._ending: dict[Path, EndedSession] = {}
        """Whose last records are being read."""
        self._next_due = 0.0
        """When prompts are due next: seconds since 1970, UTC."""
        self._next_housekeeping = self._next_forgetting = 0.0
        self._refused: tuple[float, int] = (0.0, 0)
        """Until when the store is not asked (monotonic seconds), and how often in a row it refused."""

    # --- from other threads

    def sync(self, timeout: float | None = None) -> None:
        """Return when every byte that exists now is ingested, and its tasks are done or parked. Raises TimeoutError,
        UnavailableError."""
        waiter = self.inbox.call(self.begin_sync, timeout)
        try:
            waiter.result(timeout)
        except TimeoutError:
            waiter.cancel()
            raise

    def stop(self) -> None:
        self._stop.set()
        self.wake.set()

    @property
    def is_leaving(self) -> bool:
        """Whether the loop is to be left, so that an App with another configuration can follow."""
        return self._leaving is not None

    def leave(self) -> None:
        """Begin no further task, and leave `run` when those that run have ended, or after five minutes. Any thread."""
        if self._leaving is None:
            self._leaving = self.clock.monotonic()
        self.runner.hold()
        self.wake.set()

    # --- start and stop

    def start(self, since: float = math.inf) -> None:
        """Begin to watch, take what exists at the first start as read, and find the sessions that were open. `since`: when the
        daemon began to wait for the store (seconds since 1970). The first start is then, and transcripts that changed later are
        read."""
        now = self.started_at = self.clock.now()
        self._clocks = now, self.clock.monotonic()
        self.follower.start()
        self.follower.take_stock()
        known = self.follower.list_own()
        if new := self.first_start.read(self.source.names):
            until = math.inf
            if self.first_start.is_now:
                until = self.first_start.at = min(since, self.first_start.at)
            old = [name for name, at in known.items() if at.mtime_ns / 1e9 < until]
            of_new = [name for name in old if self.source.name_of(name) in new]
            self.reader.take_baselines(find_baselines(of_new))
            self.first_start.store_sources(self.source.names)
        self._keep_first_start()
        with self.store.write() as tx:
            # What it waited for may have changed while no daemon ran.
            sql = "UPDATE task SET due = min(due, ?), not_before = NULL WHERE reason <> '' OR kind = 'purge'"
            tx.execute(sql, now)
        planned = "SELECT DISTINCT c.project FROM plan p JOIN change c ON c.number = p.change"
        self.unfinished = {project for (project,) in self.store.rows(planned)}
        for path in map(Path, self.find_unread()):
            self.reader.note_grown([path])
            self._found_mtimes[path] = known[str(path)].mtime_ns / 1e9
        for session, path, cwd, last, pid in self.store.rows(
            "SELECT id, transcript, cwd, last, pid FROM session WHERE ended IS NULL"
        ):
            if pid is not None:
                self.sessions.remember_client(session, pid, cwd)
            seen = known.get(path)
            at = seen.mtime_ns / 1e9 if seen is not None else last
            self.sessions.note_growth(Path(path), session, cwd, mtime=at)

    def _keep_first_start(self) -> None:
        self.first_start.note_clock()
        self.reader.floor = self.first_start.floor
        self.first_start.store()

    def run(
        self,
        on_pass: Callable[[], None] = lambda: None,
        max_sleep: float = MAX_SLEEP,
        before_pass: Callable[[], None] = lambda: None,
    ) -> None:
        """Run passes until `stop`, and call `before_pass` and `on_pass` before and after each. One that fails is logged, a problem, and
        repeated; after ten in a row the exception is raised."""
        try:
            while not self._stop.is_set():
                before_pass()
                if self._stop.is_set():
                    break
                self._run_guarded()
                on_pass()
                if self._may_leave():
                    break
                self._sleep(min(self.sleep_seconds(), max_sleep))
        finally:
            self.inbox.close()
            self._answer_waiters(make_stopped_error())

    def _sleep(self, seconds: float) -> None:
        """Wait until the next pass. If only a task has ended, the next one begins, and the pass comes soon: most tasks are over in a
        moment, and nothing else of a pass depends on their ends. A watcher that has ended is noticed within seconds."""
        now = self.clock.monotonic()
        until, soon = now + seconds, now + BETWEEN
        while True:
            left = max(0.0, until - self.clock.monotonic())
            if not self.wake.wait(min(left, LOOK_EVERY)):
                if left <= LOOK_EVERY or not self.follower.is_well:
                    break
                continue
            if self.wake.take() or self._stop.is_set() or self.problem is not None:
                break
            with suppress(Exception):  # the pass meets it too
                self.runner.start_ready(anew=False)
            if not self.runner.running:
                break
            until = min(until, soon)

    def _may_leave(self) -> bool:
        if self._leaving is None:
            return False
        if not (running := self.runner.running):
            return True
        if self.clock.monotonic() - self._leaving < LEAVE_WITHIN:
            return False
        logger.warning("the reload waits no longer for {}", ", ".join(name for name, _ in running))
        return True

    def _run_guarded(self) -> None:
        try:
            self.run_pass()
            self._fault_count = 0
        except Exception as error:
            self._fault_count, self._fault_at = self._fault_count + 1, self.clock.monotonic()
            logger.opt(exception=error).error("a pass of the engine's loop failed")
            what, hint = f"a pass of the loop failed: {type(error).__name__}: {error}", "see the log"
            if isinstance(error, TacitdError):
                what, hint = error.what, error.hint
            self.fault = Degradation("engine.fault", what, hint)
            if self._fault_count >= FAULTS:
                raise
            self._stop.wait(min(5.0, 0.05 * 2**self._fault_count))

    def sleep_seconds(self) -> float:
        if self.inbox or self._stop.is_set():
            return 0.0
        mono, now = self.clock.monotonic(), self.clock.now()
        if mono < self._refused[0]:
            return self._refused[0] - mono
        due: float | None = now  # if the store refuses: the pass meets that too
        with suppress(UnwritableError, StoreLostError):
            due = next_due(self.store.rows, now)
        nearest = min(
            self.follower.next_in(),
            self.reader.next_in(),
            self.sessions.next_in(),
            self._next_housekeeping - mono,
            self._next_due - now,
            self.schedule.next_in(),
            due - now if due is not None else MAX_SLEEP,
            BETWEEN if self._waiters and self.stalls.list_stuck() else MAX_SLEEP,
        )
        return max(0.005, min(nearest, MAX_SLEEP)) if not self.reader.has_unread else 0.0

    # --- a pass

    def run_pass(self, *, full: bool = False, asked: bool = False) -> None:
        """Notice, read, end sessions, queue, begin. `full`: compare all files. `asked`: all prompts are due now. If the store
        refuses, nothing moved, and the pass is tried again after a pause."""
        self.inbox.run_pending()
        self.first_start.note_clock()  # it may be set again before the store can be written
        if self.clock.monotonic() < self._refused[0]:
            return
        try:
            if self.runner.refused is not None:  # no task begins until something was written
                with self.store.write() as tx:
                    tx.execute("INSERT OR REPLACE INTO setting VALUES('written', ?)", repr(self.clock.now()))
                self.runner.refused = None
            self._watch_clock()
            self._keep_first_start()
            self.choices = read_choices(self.store.rows, self.default_mode, self.clock.now())
            self._notice(full=full)
            self._read()
            self._end_sessions()
            self._post_compactions()
            self._waiters = [one for one in self._waiters if not one.cancelled()]
            self._queue_due(asked=asked or bool(self._waiters))
            self._keep_house()
            self._refused, self.problem = (0.0, 0), None
            self.runner.start_ready()
            self.passed_at = self.clock.now()
            if not self.reader.has_unread or self.clock.monotonic() - self._noted >= NOTE_EVERY:
                self._noted = self.clock.monotonic()
                self.note_state()
        except (UnwritableError, StoreLostError) as error:
            pause = AGAIN[min(self._refused[1], len(AGAIN) - 1)]
            self._refused = self.clock.monotonic() + pause, self._refused[1] + 1
            if self.problem is None:
                logger.warning("the store cannot be written: {}", error)
            self.problem = error
            if self._refused[1] > 1:  # everything waits for the disk: who waits for work is told so
                self._answer_waiters()
            return
        runs = any(not self.stalls.affects(lane, PATIENCE) for _, lane in self.runner.running)
        busy = self.inbox or self.reader.has_unread or self._ending or runs or self._is_slow()
        if self._waiters and not busy and not self.runner.list_ready(1):
            # A task that has ended in this pass may have taken prompts, as that of `scan` does.
            rows, rules, now = self.store.rows, self.plugins.rules, self.clock.now()
            if not find_due_prompts(rows, rules, now, asked=True)[0]:
                self._answer_waiters()

    def _is_slow(self) -> bool:
        """Whether work waits for a disk that is only busy: it goes on in a moment."""
        return not self.stalls.list_stuck(PATIENCE) and bool(
            self.stalls.list_stuck() or self.reader.has_stalled
        )

    def _watch_clock(self) -> None:
        """Where the clock was set back, what waits goes on waiting for as long as before, or is tried if it waits for a time of
        day."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        before = self._clocks
        jump = (now - before[0]) - (monotonic - before[1]) if before is not None else 0.0
        if abs(jump) > JUMP:
            logger.warning("the clock jumped by {:.0f} s", jump)
        if jump < -JUMP:
            with self.store.write() as tx:
                set_back(tx, jump, now)
        self._clocks = now, monotonic  # last: if the store refuses, the jump is noticed again

    def _notice(self, *, full: bool) -> None:
        changes = self.follower.poll(full=full)
        for path in changes.changed:
            self._found_mtimes.pop(path, None)
            if not self.source.is_subagent(str(path)):
                self.reader.note_grown([path])
            elif (session := self.source.session_of_subagent(path)) is not None:
                self.sessions.note_subagent(session)
        for path in changes.vanished:
            self.reader.note_vanished(path)

    def _read(self) -> None:
        for grown in self.reader.read_pass() if not self.reader.next_in() else ():
            path = grown.path
            if grown.recognition is not None:
                self.recognition.take_session(path, grown.recognition)
            if grown.read or path not in self._ending:
                self._ending.pop(path, None)
                if not self.reader.is_unread(path):  # otherwise an old session would end once for each slice
                    mtime = self._found_mtimes.pop(path, None)
                    self.sessions.note_growth(path, grown.session, grown.cwd, mtime=mtime)

    def _end_sessions(self) -> None:
        ended_now, clients = self.sessions.take_ended(), self.sessions.take_new_clients()
        if clients:
            pids = [(pid, id) for id, pid in clients.items()]
            with self.store.write() as tx:
                tx.executemany("UPDATE session SET pid = ? WHERE id = ?", pids)
        for ended in ended_now:
            self._ending[ended.path] = ended
            for path in self._list_transcripts(ended):
                self.reader.note_ended(path)
        is_unread, wanting, now = (
            self.reader.is_unread,
            self.plugins.list_wanting("session-ended"),
            self.clock.now(),
        )
        done = [one for one in self._ending.values() if not any(map(is_unread, self._list_transcripts(one)))]
        if done:
            with self.store.write() as tx:
                for one in done:
                    end_session(tx, wanting, one.session, one.why, now)
            for one in done:
                del self._ending[one.path]
            self._next_due = 0.0

    def _list_transcripts(self, ended: EndedSession) -> list[Path]:
        """The transcripts of a session: it may have been renamed, or continued in another file."""
        found = self.store.rows("SELECT path FROM transcript WHERE session = ?", ended.session)
        return list(dict.fromkeys([ended.path, *(Path(path) for (path,) in found)]))

    def _queue_due(self, *, asked: bool) -> None:
        now = self.clock.now()
        tasks, self._next_due = find_due_prompts(self.store.rows, self.plugins.rules, now, asked=asked)
        planned = self.schedule.take_due()
        if tasks or planned:
            with self.store.write() as tx:
                for task in tasks:
                    insert_task(tx, task, now)
                for plugin, job in planned:
                    self.plugins.queue_job(tx, plugin, job)

    def _keep_house(self) -> None:
        if self.clock.monotonic() < self._next_housekeeping:
            return
        self._next_housekeeping = self.clock.monotonic() + HOUSEKEEPING
        if self.clock.monotonic() - self._fault_at > SHOWN:
            self.fault = None
        self.reader.note_grown(list(self.reader.refused))  # the reason may be gone without growth
        self.reader.read_behind()
        now = self.clock.now()
        find_missing_projects(self.store, self.lookup, self.choices, now)
        if self.clock.monotonic() < self._next_forgetting:
            return
        if doubt_now(self.store.rows, now):
            return
        with self.store.write() as tx:
            forget_old_texts(tx, now)
            forget_old_sessions(tx, self.follower.list_own(), self.follower.list_unseen(), now)
            forget_old_activities(tx, now)
            forget_unlisted(tx, now)
        self._next_forgetting = self.clock.monotonic() + FORGETTING

    def read_all(self) -> None:
        self._notice(full=True)
        for _ in range(READ_AT_MOST):
            if not self.reader.has_unread:
                break
            self._read()

    # --- sync

    def begin_sync(self) -> Future[None]:
        """Make everything due, for a caller that waits until all of it is done or parked. Loop's thread."""
        waiter: Future[None] = Future()
        self._waiters.append(waiter)
        self._notice(full=True)
        self.reader.note_asked(map(Path, self.find_unread()))
        now = self.clock.now()
        with suppress(UnwritableError):
            find_missing_projects(self.store, self.lookup, self.choices, now)
        with suppress(UnwritableError), self.store.write() as tx:
            insert_task(tx, NewTask(ENGINE, "", "job", SYNC_JOB), now)
            tx.execute("UPDATE task SET due = ?1 WHERE due > ?1 AND coalesce(not_before, 0) <= ?1", now)
        return waiter

    def _answer_waiters(self, error: Exception | None = None) -> None:
        while self._waiters:
            waiter = self._waiters.pop()
            if not waiter.set_running_or_notify_cancel():  # who waited for it has gone
                continue
            waiter.set_result(None) if error is None else waiter.set_exception(error)

    def take_hook_input(self, data: Mapping[str, object]) -> None:
        """A hook of the client says that a transcript is read now, a session ends soon, or is about to be compacted. Loop's
        thread."""
        hook = self.source.read_hook(data)
        if hook is None:
            return
        if hook.ended:
            self.sessions.note_left(hook.session)
        else:
            self.sessions.note_returned(hook.session)
        path = self.follower.note_hint(hook.transcript)
        if hook.compacts and path is not None:
            self._compacting[path] = hook.session

    def _post_compactions(self) -> None:
        wanting, now = self.plugins.list_wanting("compaction"), self.clock.now()
        for path in [one for one in self._compacting if not self.reader.is_unread(one)]:
            with self.store.write() as tx:
                queue_session_task(tx, wanting, "compaction", self._compacting.pop(path), now)

    # --- what must not begin

    def is_held(self, task: ReadyTask) -> bool:
        """Whether a task must not begin: a person paused it, its project's file system does not answer, or files of its project
        that were planned before this start are not written yet: what is made of them would be of their earlier lines."""
        if task.plugin == ENGINE or task.kind in ASKED:
            return False
        choices = self.choices
        if task.project in self.unfinished or choices.find_pause("", task.session):
            return True
        if self.is_stuck(task.project):
            return True
        return bool(choices.paused and choices.find_pause(self._find_root(task.project), task.session))

    def _find_root(self, project: int | None) -> str:
        found = self.store.rows("SELECT root FROM project WHERE number = ?", project)
        return str(found[0][0]) if found else ""

    def is_stuck(self, project: int | None) -> bool:
        """Whether the file system of a project, or of a directory in it, does not answer. Any thread."""
        return bool(self.stalls.list_stuck()) and self.stalls.affects(self._find_root(project))

    def find_unread(self) -> dict[str, int]:
        """By path, how many bytes of a transcript were not ingested; below 0 for one that was cut."""
        offsets: dict[str, int] = dict(self.store.rows("SELECT path, offset FROM transcript"))
        left = {name: stamp.size - offsets.get(name, 0) for name, stamp in self.follower.list_own().items()}
        return {name: size for name, size in left.items() if size}
