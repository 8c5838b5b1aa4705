"""The composition root: the one place that builds the parts and joins them. Nothing is decided here.

with build_app(paths, environ) as app:      # takes the lock, opens the logs, watches
    app.run()                               # until `request_stop`
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import Config, load_config
from tacitd.contract import Task
from tacitd.control.server import Server
from tacitd.engine import ENGINE, MAX_SLEEP, SYNC_JOB, Engine, WorkPlan
from tacitd.errors import StoreLostError, UnwritableError
from tacitd.events import Project
from tacitd.files.editors import Editors
from tacitd.files.locks import Lock, acquire_lock, make_private_dir
from tacitd.files.shared_files import SharedFiles
from tacitd.handler import Degradation
from tacitd.housekeeping import keep_house, run_own_job, save_budget
from tacitd.model.budget import Budget
from tacitd.model.health import ModelHealth
from tacitd.model.port import SENTINEL, Model, NoAnswer
from tacitd.model_factory import make_claude_factory
from tacitd.plugin import TimedJob
from tacitd.plugins import FoundPlugins, find_plugins
from tacitd.reload import store_settings
from tacitd.sources.base import OwnCalls
from tacitd.sources.follow import Follower, WatcherFor
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.sessions import Sessions
from tacitd.sources.source import Source
from tacitd.sources.watch import WatchdogWatcher
from tacitd.state.hook_files import write_hook_script
from tacitd.state.paths import Paths
from tacitd.state.socket_file import remove_socket_file, write_socket_file
from tacitd.status import list_own_problems, make_note, read_status
from tacitd.store import Store
from tacitd.work.activities import Activities, describe_call, read_activities
from tacitd.work.breaker import find_refusal as find_model_refusal
from tacitd.work.daemon_note import NoteWriter
from tacitd.work.engine_problems import find_refusal
from tacitd.work.lookup import ProjectLookup
from tacitd.work.plugin_start import RunningPlugins
from tacitd.work.plugin_tools import ToolServices
from tacitd.work.project_rows import list_aliases
from tacitd.work.reader import Reader
from tacitd.work.stored_problems import list_stored_problems
from tacitd.work.task_rows import NewTask, insert_task
from tacitd.work.task_runner import Runnable, TaskRunner
from tacitd.work.tries import Pauses
from tacitd.work.work_notes import WorkNotes
from tacitd.work.write_modes import WriteModes

SourceFor = Callable[[Path, OwnCalls, Mapping[str, str]], Source]
"""Makes the source, given the client's own directory and what identifies tacitd's own calls."""
A_DAY = 86400.0
HOUSEKEEPING = 50.0
"""Seconds. A person's edit of a handler's file is found then, and is to be followed within a minute."""
GRACE = 11.0
"""Seconds that tasks get when the daemon stops: longer than a model call gets, so that no child outlives the daemon."""


@dataclass(slots=True)
class App:
    """All parts of a daemon. `build_app` makes one."""

    paths: Paths
    config: Config
    found: FoundPlugins
    clock: Clock
    store: Store
    engine: Engine
    plugins: RunningPlugins
    files: SharedFiles
    runnables: dict[str, Runnable]
    model: Model
    budget: Budget
    write_modes: WriteModes
    lock: Lock
    stopping: threading.Event
    projects: ProjectFinder
    environ: Mapping[str, str]
    editors: Editors
    activities: Activities
    note_writer: NoteWriter
    degraded: dict[str, Degradation]
    set_log_level: Callable[[str], None]
    """Change the level of the log."""
    outdated: Sequence[Degradation] = ()
    """Whether another version is installed than the running one. Checked each minute."""
    left_files: Sequence[Path] = ()
    """Files of an earlier version in the state directory. Checked each minute."""
    _server: Server | None = None
    _is_open: bool = False

    def open(self) -> None:
        """Finish what a crash interrupted, watch and list the transcripts. Raises TacitdError."""
        self.budget.mark_lost()
        places = {Path(path).parent for (path,) in self.store.rows("SELECT path FROM shared_file")}
        self.editors.find_copies(sorted(places))
        since = self.clock.now() - A_DAY
        self.activities.load(read_activities(self.store.rows, since))
        store_settings(self.store, self.config)
        self.engine.start()
        self.plugins.open(self.engine.schedule)
        self._is_open = True
        with suppress(OSError):  # hooks only make it faster
            write_hook_script(self.paths.state_dir, self.engine.source.hook_program)
        keep_house(self)
        self.note_state()
        self.check_sources()

    def check_sources(self) -> None:
        """Look for edits of shared files now, in a worker."""
        with self.store.write() as tx:
            insert_task(tx, NewTask(ENGINE, "", "job", SYNC_JOB), self.clock.now())
        self.engine.call_soon(lambda: None)

    def list_degradations(self) -> list[Degradation]:
        """What is wrong, as of now. Any thread."""
        refusal = find_refusal(self.engine)
        stored = list_stored_problems(
            self.store.rows, self.plugins.by_name, self.clock.now(), of_daemon=False
        )
        return [*([refusal] if refusal is not None else []), *list_own_problems(self), *stored]

    def read_status(self) -> dict[str, Any]:
        """The status document, as of the last pass of the loop. Any thread."""
        refusal = find_refusal(self.engine)
        return read_status(
            self.store.rows,
            self.found.plugins,
            self.clock.now(),
            pid=os.getpid(),
            problem=refusal,
            note=self.note_writer.last,
        )

    def note_state(self) -> None:
        """Store what only this process knows and `status` shows. Loop's thread. Raises UnwritableError, StoreLostError."""
        self.note_writer.write(make_note(self), list_own_problems(self))

    def run(self, on_iteration: Callable[[], None] = lambda: None, max_sleep: float = MAX_SLEEP) -> None:
        """Run until `request_stop`. `on_iteration` is called after each pass of the engine's loop, which sleeps for
        `max_sleep` seconds at most."""
        self.engine.run(on_iteration, max_sleep)

    def request_stop(self) -> None:
        """Begin to stop: kill the model's children, end the loop. Any thread."""
        self.stopping.set()
        self.engine.stop()

    def close(self) -> None:
        """Stop everything and release the lock. Commits are durable already."""
        self.stopping.set()
        steps: list[Callable[[], object]] = [] if self._server is None else [self._server.close]
        steps += [partial(self.engine.runner.stop, GRACE), self.engine.follower.stop]
        steps += [self.model.reap_children] if isinstance(self.model, ModelHealth) else []
        steps += [self.editors.close, partial(save_budget, self)]
        steps += [self._note_last_state] if self._is_open else []
        steps += [self.store.close]
        steps += [] if self._server is None else [partial(remove_socket_file, self.paths.state_dir)]
        try:
            for step in steps:
                try:
                    step()
                except Exception as error:  # noqa: BLE001  the other steps must run
                    logger.opt(exception=error).error(
                        "closing: {} failed", getattr(step, "__qualname__", step)
                    )
        finally:
            self.lock.release()

    def _note_last_state(self) -> None:
        with suppress(UnwritableError, StoreLostError):
            self.note_state()

    def listen(self, server: Server) -> None:
        """Answer calls until `close`, and write the socket's path for commands with another environment.

        Raises UnavailableError, OSError.
        """
        self._server = server
        server.open()
        write_socket_file(self.paths.state_dir, server.path)

    def __enter__(self) -> App:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def build_app(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    clock: Clock | None = None,
    found: FoundPlugins | None = None,
    model: Callable[[Config, Budget], Model] | None = None,
    watcher_for: WatcherFor = WatchdogWatcher,
    pool: Executor | None = None,
    source_for: SourceFor = make_source,
    set_log_level: Callable[[str], None] = lambda _: None,
) -> App:
    """Take the lock and build the parts. Nothing is watched or asked yet.

    `set_log_level` is called when a reload changes the level.

    Raises ConfigError, also for a state directory that another version wrote, and UnavailableError if another daemon has
    the lock.
    """
    clock = clock or SystemClock()
    found = found or find_plugins()
    config = load_config(paths.config_file, environ, found.collect_sections(), broken=bool(found.failed))
    make_private_dir(paths.state_dir)
    lock = acquire_lock(paths.state_dir / "lock")
    try:
        parts = _Outside(paths, environ, clock, found, watcher_for, pool, source_for, set_log_level)
        store = Store.open(paths.state_dir, clock, {one.name: one.schema for one in found.plugins})
        try:
            return _join_parts(parts, config, lock, store, model)
        except BaseException:
            store.close()
            raise
    except BaseException:
        lock.release()
        raise


class _Outside(Struct, frozen=True):
    """The arguments of `build_app` that `_join_parts` passes on."""

    paths: Paths
    environ: Mapping[str, str]
    clock: Clock
    found: FoundPlugins
    watcher_for: WatcherFor
    pool: Executor | None
    source_for: SourceFor
    set_log_level: Callable[[str], None]


def _join_parts(
    outside: _Outside,
    config: Config,
    lock: Lock,
    store: Store,
    make_model: Callable[[Config, Budget], Model] | None,
) -> App:
    """Build each part after the parts that it uses. No part is completed by a later assignment."""
    paths, environ, clock, found = outside.paths, outside.environ, outside.clock, outside.found
    stopping, wake = threading.Event(), threading.Event()
    work = make_private_dir(paths.state_dir / "model") / "work"
    activities = Activities(store, clock.now)
    budget = Budget(store, config.budget, clock, lambda call: activities.add("asked", *describe_call(call)))
    own_sessions = budget.list_sessions()
    own = OwnCalls(str(work), SENTINEL, own_sessions)
    source = outside.source_for(paths.config_dir, own, outside.environ)
    make_model = make_model or make_claude_factory(work, environ, clock, stopping, own_sessions)
    model = make_model(config, budget)
    editors = Editors(clock)
    write_modes = WriteModes(paths.state_dir, clock, config.projects.write, store)

    def is_off(root: Path) -> bool:
        return write_modes.get_mode(Project(root, False)) == "off"

    projects = ProjectFinder(
        paths.home,
        excludes=config.projects.exclude,
        private=[paths.state_dir, paths.config_dir],
        is_off=is_off,
        list_aliases=lambda: list_aliases(store.rows),
    )
    degraded = dict[str, Degradation]()
    threads = outside.pool is None
    notes = WorkNotes(activities, clock)
    files = SharedFiles(store, clock, editors=editors)
    sessions = Sessions(clock, config.session.idle, source.read_claims)

    def refuse_model(task: Task) -> NoAnswer | None:
        return find_model_refusal(store.rows, task.session, _root_of(task), clock.now())

    parts = ToolServices(
        store,
        clock,
        paths.config_dir,
        files,
        model,
        projects.find_project,
        write_modes.get_mode,
        lambda project: sessions.is_live_in(lambda cwd: projects.find_project(cwd) == project),
        refuse_model,
        found.collect_prompt_extensions(),
    )
    plugins = RunningPlugins(found.plugins, config, parts, budget, environ, activities, degraded)
    runnables = {name: one.runnable for name, one in plugins.by_name.items()}
    lookup = ProjectLookup(projects.find_project, clock, threads=threads)
    mode = config.projects.write
    reader = Reader(store, source, lookup, plugins.observers, clock, default_mode=mode)
    follower = Follower(source, clock, outside.watcher_for, wake.set)
    runner = TaskRunner(
        store,
        runnables,
        clock,
        is_held=lambda task: engine.is_held(task),
        on_done=wake.set,
        on_parked=notes.note_parked,
        files=files,
        pool=outside.pool,
        pauses=Pauses(config.dispatch.first_pause, config.dispatch.longest_pause),
    )
    jobs = (TimedJob(SYNC_JOB, HOUSEKEEPING), TimedJob("housekeeping", HOUSEKEEPING))
    engine = Engine(
        store,
        follower,
        reader,
        sessions,
        runner,
        lookup,
        source,
        WorkPlan(
            plugins.rules,
            {ENGINE: jobs},
            plugins.list_wanting("session-ended"),
            plugins.list_wanting("compaction"),
        ),
        clock,
        wake,
        post_job=plugins.queue_job,
        on_read=notes.note_read,
        note_state=lambda: app.note_state(),
        default_mode=mode,
    )
    app = App(
        paths=paths,
        config=config,
        found=found,
        clock=clock,
        store=store,
        engine=engine,
        plugins=plugins,
        files=files,
        runnables=runnables,
        model=model,
        budget=budget,
        write_modes=write_modes,
        lock=lock,
        stopping=stopping,
        projects=projects,
        environ=environ,
        editors=editors,
        activities=activities,
        note_writer=NoteWriter(store),
        degraded=degraded,
        set_log_level=outside.set_log_level,
    )
    runnables[ENGINE] = Runnable(partial(run_own_job, app), lambda task: None)
    return app


def _root_of(task: Task) -> str:
    """The root of a task's project; "" if it belongs to none."""
    return str(task.project.root) if isinstance(task.project, Project) else ""
