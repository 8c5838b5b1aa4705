"""The loop: notices growth, reads it, queues what is due, and begins tasks. One thread owns all of it.

It reads transcripts and rows, and decides. It touches no path below a project's root, no git and no file of a person: tasks
do, in the workers. Nothing is kept here that the store does not have, but which sessions grew lately.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Tx
from tacitd.errors import StoreLostError, UnwritableError
from tacitd.events import NoProject, Project
from tacitd.plugin import GatherRule, TimedJob
from tacitd.sources.base import Source
from tacitd.sources.follow import Follower
from tacitd.sources.position import find_baselines
from tacitd.sources.sessions import EndedSession, Sessions
from tacitd.store import Store
from tacitd.work.behind import BehindReader
from tacitd.work.gathering import find_due_jobs, find_due_prompts, queue_session_task
from tacitd.work.lookup import ProjectLookup
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import forget_old_texts
from tacitd.work.reader import Reader
from tacitd.work.task_rows import insert_task, next_due
from tacitd.work.task_runner import TaskRunner

HOUSEKEEPING = 60.0
"""Seconds between two looks at what is due once a minute."""
AGAIN = (0.2, 1.0, 5.0, 10.0)
"""Seconds until a pass is tried again that the store refused; the last one is repeated."""
MAX_SLEEP = 60.0


class WorkPlan(Struct, frozen=True):
    """What the loop needs of the plugins, each by its name."""

    rules: Mapping[str, GatherRule]
    jobs: Mapping[str, Sequence[TimedJob]]
    wants_ends: Sequence[str] = ()


class WorkLoop:
    """The parts, and the passes over them."""

    def __init__(
        self,
        store: Store,
        follower: Follower,
        reader: Reader,
        behind: BehindReader,
        sessions: Sessions,
        runner: TaskRunner,
        lookup: ProjectLookup,
        source: Source,
        plan: WorkPlan,
        clock: Clock,
        wake: threading.Event,
    ) -> None:
        self._store = store
        self._follower = follower
        self._reader = reader
        self._behind = behind
        self._sessions = sessions
        self._runner = runner
        self._lookup = lookup
        self._source = source
        self._plan = plan
        self._clock = clock
        self._wake = wake
        self._stop = threading.Event()
        self._ending: dict[Path, EndedSession] = {}
        """Sessions that ended and whose last records are being read."""
        self._next_due = 0.0
        """When prompts or jobs are due next: seconds since 1970, UTC."""
        self._next_housekeeping = 0.0
        self._refused: tuple[float, int] = (0.0, 0)
        """Until when the store is not asked (monotonic seconds), and how often in a row it refused."""
        self.problem: UnwritableError | StoreLostError | None = None
        """Why the last pass could not be committed; None if it was."""
        self.passed_at = clock.now()
        """When the last pass ended: seconds since 1970, UTC."""

    # --- start and stop

    def start(self) -> None:
        """Begin to watch, take what exists at the first start as read, and find the sessions that were open."""
        self._follower.start()
        self._follower.list_all()
        known = self._follower.list_own()
        if not self._store.rows("SELECT 1 FROM setting WHERE key = 'first start'"):
            self._reader.take_baselines((Path(name), position) for name, position in find_baselines(known))
            with self._store.write() as tx:
                tx.execute("INSERT INTO setting VALUES('first start', ?)", repr(self._clock.now()))
        offsets: dict[str, int] = dict(self._store.rows("SELECT path, offset FROM transcript"))
        self._reader.note_grown(
            Path(name) for name, stamp in known.items() if stamp.size != offsets.get(name, 0)
        )
        for session, path, cwd, last in self._store.rows(
            "SELECT id, transcript, cwd, last FROM session WHERE ended IS NULL"
        ):
            stamp = known.get(path)
            at = stamp.mtime_ns / 1e9 if stamp is not None else last
            self._sessions.note_growth(Path(path), session, cwd, last, mtime=at)

    def stop(self) -> None:
        """Leave `run` at the end of this pass. Any thread."""
        self._stop.set()
        self._wake.set()

    def run(self, on_pass: Callable[[], None] = lambda: None) -> None:
        """Run passes until `stop`. `on_pass` is called after each."""
        while not self._stop.is_set():
            self.run_pass()
            on_pass()
            self._wake.wait(self.sleep_seconds())
            self._wake.clear()

    def sleep_seconds(self) -> float:
        """Seconds until the next pass is due without being woken."""
        mono, now = self._clock.monotonic(), self._clock.now()
        if mono < self._refused[0]:
            return self._refused[0] - mono
        due = next_due(self._store.rows, now)
        nearest = min(
            self._follower.next_in(),
            self._reader.next_in(),
            self._sessions.next_in(),
            self._next_housekeeping - mono,
            self._next_due - now,
            due - now if due is not None else MAX_SLEEP,
        )
        return max(0.005, min(nearest, MAX_SLEEP)) if not self._reader.has_unread else 0.0

    # --- a pass

    def run_pass(self, *, full: bool = False, asked: bool = False) -> None:
        """Notice, read, end sessions, queue, begin. `full`: compare all files. `asked`: all prompts are due now.

        If the store refuses, nothing moved, and the pass is tried again after a pause.
        """
        if self._clock.monotonic() < self._refused[0]:
            return
        try:
            self._notice(full=full)
            self._read()
            self._end_sessions()
            self._queue_due(asked=asked)
            self._keep_house()
        except (UnwritableError, StoreLostError) as error:
            pause = AGAIN[min(self._refused[1], len(AGAIN) - 1)]
            self._refused = self._clock.monotonic() + pause, self._refused[1] + 1
            if self.problem is None:
                logger.warning("the store cannot be written: {}", error)
            self.problem = error
            return
        self._refused, self.problem = (0.0, 0), None
        self._runner.start_ready()
        self.passed_at = self._clock.now()

    def _notice(self, *, full: bool) -> None:
        changes = self._follower.poll(full=full)
        for path in (*changes.created, *changes.changed):
            if not self._source.is_subagent(str(path)):
                self._reader.note_grown([path])
            elif (session := self._source.session_of_subagent(path)) is not None:
                self._sessions.note_subagent(session)
        for path in changes.vanished:
            self._reader.note_vanished(path)

    def _read(self) -> None:
        if not self._reader.next_in():
            for grown in self._reader.read_pass().grown:
                if grown.read or grown.path not in self._ending:
                    self._ending.pop(grown.path, None)
                    self._sessions.note_growth(grown.path, grown.session, grown.cwd, grown.time)

    def _end_sessions(self) -> None:
        for ended in self._sessions.take_ended():
            self._ending[ended.path] = ended
            self._reader.note_ended(ended.path)
        done = [one for path, one in self._ending.items() if not self._reader.is_unread(path)]
        if not done:
            return
        now = self._clock.now()
        with self._store.write() as tx:
            for one in done:
                tx.execute(
                    "UPDATE session SET ended = ?, ended_by = ? WHERE id = ?", now, one.why, one.session
                )
                for project, root in tx.rows(
                    "SELECT s.project, r.root FROM session s JOIN project r ON r.number = s.project WHERE s.id = ?",
                    one.session,
                ):
                    queue_session_task(
                        tx, self._plan.wants_ends, "session-ended", one.session, project, root, now
                    )
        for one in done:
            del self._ending[one.path]
        self._next_due = 0.0

    def _queue_due(self, *, asked: bool) -> None:
        now = self._clock.now()
        prompts = find_due_prompts(self._store.rows, self._plan.rules, now, asked=asked)
        jobs = find_due_jobs(self._store.rows, self._plan.jobs, now)
        self._next_due = min(prompts.next_at, jobs.next_at)
        if prompts.tasks or jobs.tasks:
            with self._store.write() as tx:
                for task in (*prompts.tasks, *jobs.tasks):
                    insert_task(tx, task, now)

    def _keep_house(self) -> None:
        if self._clock.monotonic() < self._next_housekeeping:
            return
        self._next_housekeeping = self._clock.monotonic() + HOUSEKEEPING
        self._behind.read()
        self._find_missing_projects()
        with self._store.write() as tx:
            forget_old_texts(tx, self._clock.now())

    def _find_missing_projects(self) -> None:
        """Prompts that were typed in a directory that did not exist here get their project once it does."""
        for (cwd,) in self._store.rows(
            "SELECT DISTINCT p.cwd FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
            "WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting'"
        ):
            place = self._lookup.find_project(cwd)
            if place is not None and not (isinstance(place, NoProject) and place.gone):
                with self._store.write() as tx:
                    self._settle_place(tx, cwd, place)

    def _settle_place(self, tx: Tx, cwd: str, place: Project | NoProject) -> None:
        if isinstance(place, Project):
            number = store_project(tx, place, self._clock.now())
            tx.execute("UPDATE prompt SET project = ? WHERE cwd = ? AND project IS NULL", number, cwd)
            return
        where = "cwd = ? AND project IS NULL AND passed IS NULL"
        tx.execute(f"DELETE FROM prompt_task WHERE prompt IN (SELECT number FROM prompt WHERE {where})", cwd)
        passed = "excluded" if place.excluded else "no project"
        tx.execute(f"UPDATE prompt SET passed = ?, text = NULL, context = NULL WHERE {where}", passed, cwd)
