"""An engine for tests: a fake clock, plugins that follow a script, real transcripts, and no threads.

    scene = Scene(tmp_path)
    scene.type("s1", "use pnpm")      # appends to a real transcript
    scene.settle()                    # iterates until nothing more happens
    assert scene.handler.words == [["use pnpm"]]

With `Scene(held=True)` plugins only run in `scene.work()`, so that a test can let two things overlap.
"""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support_beginnings import RECENT, beginning, is_new
from tacitd.app import App
from tacitd.config.settings import Config
from tacitd.contract import Batch, Done, Later, Outcome, Task, Tools, Tx
from tacitd.errors import FileBusyError
from tacitd.housekeeping import scan_transcripts
from tacitd.methods import build_methods
from tacitd.model.budget import Budget
from tacitd.model.port import Model, ModelRequest, NoAnswer
from tacitd.plugin import GatherRule, PluginSpec, TimedJob
from tacitd.plugins import FoundPlugins
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.state.person_choices import Scope
from tacitd.testing import FakeClock, ScriptedModel
from tacitd.testing.fakes import InlineExecutor
from tacitd.work.prompt_rows import list_rescued
from tacitd.work.work_status import list_parked
from tacitd.work.write_modes import set_pause

AT_ONCE = GatherRule(quiet=0.0)
"""Prompts are not gathered."""


@dataclass(slots=True)
class Scripted:
    """A plugin whose outcomes come from a function, and that records its tasks and what it observed."""

    answer: Callable[[Task], Outcome] = lambda task: Done()
    rule: GatherRule | None = AT_ONCE
    """None: it asks the model about nothing, and gets no prompts."""
    says: Callable[[], Mapping[str, Any]] | None = None
    name: str = ""
    """Of the plugin; "": a, b or c."""
    tasks: list[Task] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)

    def run(self, task: Task, tools: Tools) -> Outcome:
        self.tasks.append(task)
        return self.answer(task)

    def observe(self, batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
        self.batches.append(batch)

    def make_spec(self, name: str, *, one_lane: bool = False, jobs: Sequence[TimedJob] = ()) -> PluginSpec:
        """Its declaration, with functions in place of hooks."""
        hooks: dict[str, Any] = {"run": self.run, "observe": self.observe}
        if self.rule is not None:
            hooks["gather"] = lambda settings: self.rule
        if self.says is not None:
            says = self.says
            hooks["status"] = lambda rows, now: says()
        events: Any = frozenset(("session-started", "session-ended", "compaction"))
        return PluginSpec(name, one_lane=one_lane, jobs=jobs, events=events, **hooks)

    @property
    def words(self) -> list[list[str]]:
        """The prompts of each task, in order."""
        return [words_of(task) for task in self.tasks if task.prompts]

    @property
    def ends(self) -> list[Task]:
        return self.list_tasks("session-ended")

    def list_tasks(self, kind: str) -> list[Task]:
        return [task for task in self.tasks if task.kind == kind]


class Paying(Scripted):
    """A plugin that asks the model about prompts, and waits where it gets no answer."""

    def run(self, task: Task, tools: Tools) -> Outcome:
        if task.prompts:
            said = tools.ask(ModelRequest("words", "fast"))
            if isinstance(said, NoAnswer):
                return Later(said.reason, said.hint, said.retry_at)
        return super().run(task, tools)


def words_of(task: Task) -> list[str]:
    """The texts of a task's prompts."""
    return [one.text for one in task.prompts]


def with_words(answer: Callable[[Task], Outcome]) -> Scripted:
    """A plugin whose outcome for prompts comes from a function. Its outcome for other tasks is `Done`."""
    return Scripted(lambda task: answer(task) if task.prompts else Done())


def gathered(quiet: float = 1e5) -> Scripted:
    """A plugin whose prompts are gathered until nothing was typed for so many seconds."""
    return Scripted(rule=GatherRule(quiet=quiet, prompts=10**6))


def busy(seconds: float) -> Any:
    """Fail as a plugin does whose file is being edited: it is tried again after so many seconds."""
    raise FileBusyError("x is open in vim", seconds=seconds)


def ids(scene: Scene, number: int = 0) -> list[str]:
    """The prompts that a plugin has done, in the order in which they were read."""
    found = scene.app.store.rows(
        "SELECT p.id FROM prompt_task t JOIN prompt p ON p.number = t.prompt WHERE t.plugin = ? AND t.state = 'done' "
        "ORDER BY p.number",
        "abc"[number],
    )
    return [id for (id,) in found]


class Inline(InlineExecutor):
    """A pool that runs work at once, in the engine's thread."""

    def __init__(self) -> None:
        self.works: deque[Callable[[], object]] = deque()
        self.held = False

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        if self.held and not (args and getattr(args[0], "plugin", "") == "engine"):
            self.works.append(lambda: fn(*args, **kwargs))
        else:
            fn(*args, **kwargs)


class Scene:
    """A home, projects, an app with its engine, and a person who types."""

    def __init__(
        self,
        tmp: Path,
        *handlers: Scripted,
        held: bool = False,
        one_lane: bool = False,
        jobs: Sequence[TimedJob] = (),
        beside: Sequence[PluginSpec] = (),
        clock: FakeClock | None = None,
        model: Callable[[Config, Budget], Model] = lambda config, budget: ScriptedModel(),
        begins: str = RECENT,
        pool: Executor | None = None,
        **environ: str,
    ) -> None:
        """`begins`: the shape with which each session begins, one of `support_beginnings.SHAPES`. `pool` replaces the
        workers, which otherwise run in the test's thread. `beside`: other plugins."""
        self.tmp = tmp.resolve()
        self.begins = begins
        self.version = "2.1.328"
        """The client that writes the records."""
        self.clock = clock or FakeClock()
        self.held, self.model, self.given_pool = held, model, pool
        self.one_lane, self.jobs, self.beside = one_lane, jobs, beside
        self.environ = {f"TACITD_{name}": value for name, value in environ.items()}
        self.folder = self.tmp / "claude" / "projects" / "folder"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.root = self.project("app")
        self.serial = 0
        self.start(*handlers or (Scripted(),))

    # the daemon

    def start(self, *handlers: Scripted, since: float = math.inf) -> None:
        """Start a new daemon on the same disk. `since`: when it began to wait for the store."""
        self.handlers = handlers
        self.pool = Inline()
        self.pool.held = self.held
        specs = [
            one.make_spec(one.name or name, one_lane=self.one_lane, jobs=self.jobs)
            for name, one in zip("abc", handlers, strict=False)
        ]
        places = Paths(
            self.tmp, self.tmp / "claude", self.tmp / "state", self.tmp / "none.toml", self.tmp / "s"
        )
        self.app: App = App(
            places,
            self.environ,
            clock=self.clock,
            found=FoundPlugins((*specs, *self.beside)),
            model=self.model,
            watcher_for=SilentWatcher,
            pool=self.given_pool or self.pool,
        )
        self.engine = self.app.engine
        self.prepare()
        self.app.open(since)

    def prepare(self) -> None:
        """Change what was built before it begins."""

    def restart(self, *handlers: Scripted) -> None:
        """Kill the daemon and start it again. Without handlers: with new ones that have the same functions."""
        self.kill()
        self.start(*handlers or [type(one)(one.answer, one.rule) for one in self.handlers])

    def kill(self) -> None:
        """Kill the daemon without saving anything."""
        self.app.engine.follower.stop()
        self.app.store.close()
        self.app.lock.release()

    def forget_store(self) -> None:
        """Delete the store of a daemon that does not run."""
        for path in (self.tmp / "state").glob("tacitd.sqlite*"):
            path.unlink()

    @property
    def handler(self) -> Scripted:
        return self.handlers[0]

    def queue_job(self, job: str, root: Path) -> None:
        """Ask for a job in one project."""
        self.call("due", job=job, project=str(root))

    def pause(self, scope: Scope = "all", name: str = "", *, held: bool = True) -> dict[str, Any]:
        """Pause, or resume with `held=False`, as the command does."""
        self.engine.read_all()
        return set_pause(self.app.store, self.app.paths.state_dir, scope, name, self.clock.now(), held=held)

    def scan(self, paths: Sequence[Path], since: float, roots: Sequence[str] = ()) -> int:
        """What `tacitd scan` asks for; returns how many of the paths are transcripts."""
        return scan_transcripts(self.app, list(map(str, paths)), since, roots)

    def rescued(self) -> list[dict[str, Any]]:
        return list_rescued(self.app.store.rows, self.clock.now())

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the control socket. The loop is run by the test, so it is not waited for."""
        return build_methods(self.app)[method](params)

    # time

    def settle(self, seconds: float = 2.0) -> None:
        """Let time pass, and iterate until nothing more happens."""
        self.clock.advance(seconds)
        for number in range(300):
            self.engine.run_pass(full=not number)
            engine = self.engine
            is_ready = bool(engine.runner.list_ready()) and not (self.pool.held or engine.problem)
            if engine.problem or not (engine.inbox or engine.reader.has_unread or is_ready):
                return
        raise AssertionError("it never comes to rest")

    def work(self, count: int = 1) -> None:
        """Let handlers run the work that was assigned to them."""
        for _ in range(min(count, len(self.pool.works))):
            self.pool.works.popleft()()

    def sync(self) -> Any:
        """Begin a sync, iterate until nothing more happens, and return the sync's future."""
        future = self.engine.begin_sync()
        self.settle(0)
        return future

    def parked(self) -> list[str]:
        found = list_parked(self.app.store.rows, self.engine.choices, self.clock.now())
        return [one.reason for one in found]

    # the person

    def project(self, name: str) -> Path:
        """A git work tree, because a temporary folder is no project otherwise."""
        root = self.tmp / "work" / name
        (root / ".git").mkdir(parents=True, exist_ok=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return root

    def path(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"

    def begin(self, session: str, path: Path | None = None) -> Path:
        """Open a session without typing into it."""
        return self.append(session, path=path)

    def type(
        self, session: str, *words: str, cwd: Path | None = None, age: float = 0.0
    ) -> list[dict[str, Any]]:
        """Type: one record for each text."""
        made = [self.typed(session, text, cwd=cwd, age=age) for text in words]
        self.append(session, *made)
        return made

    def typed(self, session: str, text: str, cwd: Path | None = None, age: float = 0.0) -> dict[str, Any]:
        return self._record("user", session, {"role": "user", "content": text}, cwd, age)

    def said(self, session: str, text: str, cwd: Path | None = None, age: float = 0.0) -> dict[str, Any]:
        blocks = [{"type": "text", "text": text}]
        return self._record("assistant", session, {"role": "assistant", "content": blocks}, cwd, age)

    def title(self, session: str) -> dict[str, Any]:
        """Write a record without text."""
        return {"type": "ai-title", "sessionId": session, "aiTitle": "x" * 20}

    def queued(self, session: str, text: str, operation: str = "enqueue") -> dict[str, Any]:
        made = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self._stamp(0),
            "sessionId": session,
        }
        return made | ({"content": text} if operation == "enqueue" else {})

    def append(self, session: str, *records: Mapping[str, Any], path: Path | None = None) -> Path:
        """Write records; the first ones of a transcript come after what the client begins it with."""
        path = path or self.path(session)
        begun = beginning(session, self.begins, self._stamp(0)) if is_new(path) else []
        with path.open("ab") as out:
            out.write(b"".join(json.dumps(one).encode() + b"\n" for one in (*begun, *records)))
        os.utime(path, (self.clock.wall, self.clock.wall))
        return path

    def _record(
        self, kind: str, session: str, message: Mapping[str, Any], cwd: Path | None, age: float
    ) -> dict[str, Any]:
        self.serial += 1
        return {
            "type": kind,
            "message": message,
            "uuid": f"u{self.serial}",
            "sessionId": session,
            "cwd": str(cwd or self.root),
            "timestamp": self._stamp(age),
            "version": self.version,
            "isSidechain": False,
            "userType": "external",
        }

    def _stamp(self, age: float) -> str:
        return datetime.fromtimestamp(self.clock.wall - age, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
