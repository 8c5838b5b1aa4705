"""The new core with plugins of a test: a home, transcripts, a store, a fake clock, and workers in the test's thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from tacitd.contract import Batch, Done, Outcome, Row, Task, Tx
from tacitd.engine import Engine, WorkPlan
from tacitd.events import NoProject, Project
from tacitd.plugin import GatherRule
from tacitd.sources.follow import Follower
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.samples import append_client_record, append_sample_record
from tacitd.sources.sessions import Sessions
from tacitd.sources.source import SessionClaim
from tacitd.sources.watch import SilentWatcher
from tacitd.store import Store, do_nothing
from tacitd.testing import FakeClock
from tacitd.work.project_rows import ProjectLookup
from tacitd.work.reader import PASS_BYTES, Observer, Reader
from tacitd.work.task_runner import InlineExecutor, Runnable, TaskRunner

MINUTE = 60.0
OPEN: list[WorkBench] = []
"""Those that are closed after the test."""


class Toy:
    """A plugin that records what it gets. `outcome` decides what a task returns."""

    def __init__(
        self,
        name: str = "toy",
        outcome: Callable[[Task], Outcome] = lambda task: Done(),
        observe: Callable[[Batch, Tx], None] | None = None,
        rule: GatherRule | None = None,
    ) -> None:
        self.name, self.outcome, self.observe = name, outcome, observe
        self.rule = rule or GatherRule(quiet=600.0, prompts=10)
        self.tasks: list[Task] = []

    def run(self, task: Task) -> Outcome:
        self.tasks.append(task)
        return self.outcome(task)

    def texts(self) -> list[list[str]]:
        """The prompts of each task of prompts."""
        return [[one.text for one in task.prompts] for task in self.tasks if task.kind == "prompts"]

    def kinds(self) -> list[str]:
        return [task.kind for task in self.tasks]


class WorkBench:
    """The parts of the new core, joined as the daemon joins them."""

    def __init__(
        self,
        tmp: Path,
        *toys: Toy,
        clock: FakeClock | None = None,
        find: Callable[[str], Project | NoProject] | None = None,
        threads: bool = False,
        on_step: Callable[[str], None] = do_nothing,
        pass_bytes: int = PASS_BYTES,
        pool: Executor | None = None,
        on_done: Callable[[], None] = lambda: None,
    ) -> None:
        """`pool` replaces the workers, which otherwise run in the test's thread; `on_done` is called at the end of each task."""
        self.pool, self.on_done = pool, on_done
        self.tmp, self.toys = tmp.resolve(), toys or (Toy(),)
        self.clock = clock or FakeClock()
        self.home = self.tmp / "home"
        self.client_home = self.home / ".claude"
        (self.client_home / "projects").mkdir(parents=True, exist_ok=True)
        self.state = self.tmp / "state"
        self.state.mkdir(mode=0o700, exist_ok=True)
        self.project = self.new_project("app")
        self.find, self.threads, self.on_step, self.pass_bytes = find, threads, on_step, pass_bytes
        self.serial = 0
        self.start()
        OPEN.append(self)

    def new_project(self, name: str) -> Path:
        root = self.home / "work" / name
        (root / ".git" / "info").mkdir(parents=True, exist_ok=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return root

    def start(self) -> None:
        """Start on what is on the disk."""
        self.store = Store.open(self.state, self.clock, on_step=self.on_step)
        source, wake = make_source(self.client_home), threading.Event()
        follower = Follower(source, self.clock, SilentWatcher, wake.set)
        finder = ProjectFinder(self.home, private=[self.state, self.client_home])
        self.lookup = ProjectLookup(self.find or finder.find_project, self.clock, threads=self.threads)
        observers = [Observer(toy.name, toy.observe, True, True) for toy in self.toys]
        self.reader = Reader(
            self.store, source, self.lookup, observers, self.clock, pass_bytes=self.pass_bytes
        )
        self.runner = TaskRunner(
            self.store,
            {toy.name: Runnable(toy.run, toy.rule) for toy in self.toys},
            self.clock,
            pool=self.pool or InlineExecutor(),
            on_done=self.on_done,
        )
        claims: Callable[[], Sequence[SessionClaim]] = tuple
        self.loop = Engine(
            self.store,
            follower,
            self.reader,
            Sessions(self.clock, 1800.0, claims, lambda pid: False),
            self.runner,
            self.lookup,
            source,
            WorkPlan(
                {toy.name: toy.rule for toy in self.toys},
                [toy.name for toy in self.toys],
            ),
            self.clock,
            wake,
        )
        self.loop.start()

    def crash(self) -> None:
        """End as `kill -9` would, and start again."""
        self.store.close()
        self.start()

    def type(self, *texts: str, session: str = "s1", cwd: Path | None = None) -> WorkBench:
        for text in texts:
            self._append(session, "user", text, cwd)
            self.clock.advance(1.0)
        return self

    def say(self, text: str, session: str = "s1", cwd: Path | None = None) -> WorkBench:
        self._append(session, "assistant", text, cwd)
        return self

    def record(self, session: str = "s1", **fields: Any) -> WorkBench:
        self.serial += 1
        append_client_record(
            self.client_home, session, fields, cwd=self.project, number=self.serial, at=self.clock.now()
        )
        return self

    def _append(self, session: str, kind: Any, text: str, cwd: Path | None) -> None:
        self.serial += 1
        append_sample_record(
            self.client_home,
            session,
            kind,
            text,
            cwd=cwd or self.project,
            number=self.serial,
            at=self.clock.now(),
        )

    def transcript(self, session: str = "s1") -> Path:
        (found,) = self.client_home.rglob(f"{session}.jsonl")
        return found

    def advance(self, seconds: float = 0.0, *, asked: bool = False) -> WorkBench:
        """Let time pass, and run passes until nothing is left to do now."""
        self.clock.advance(seconds)
        for n in range(500):
            self.loop.run_pass(full=not n, asked=asked)
            if self.loop.problem or not (self.reader.has_unread or self.runner.list_ready()):
                return self
        raise RuntimeError("there is still work")

    def leave(self) -> WorkBench:
        """All sessions fall silent for half an hour."""
        return self.advance().advance(31 * MINUTE).advance(MINUTE)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self.store.rows(sql, *values)

    def states(self) -> Mapping[str, str]:
        """The state of each prompt by its text, for the first plugin."""
        return dict(
            self.rows(
                "SELECT p.text, t.state FROM prompt p JOIN prompt_task t ON t.prompt = p.number WHERE t.plugin = ?",
                self.toys[0].name,
            )
        )
