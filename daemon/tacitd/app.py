"""The composition root: the one place that builds the parts and joins them. Nothing is decided here."""

from __future__ import annotations

import math
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import Config, list_settings, load_config
from tacitd.control.server import Server
from tacitd.engine import MAX_SLEEP, SYNC_JOB, Engine
from tacitd.errors import StoreLostError, UnavailableError, UnwritableError
from tacitd.events import Project
from tacitd.files.editors import Editors
from tacitd.files.locks import Lock, acquire_lock, make_private_dir
from tacitd.files.shared_files import SharedFiles
from tacitd.files.stalls import PATIENCE, Stalls
from tacitd.handler import Degradation
from tacitd.housekeeping import keep_house, run_own_job, save_budget
from tacitd.model.budget import Budget
from tacitd.model.port import SENTINEL, Model, ModelHealth
from tacitd.model_factory import make_daemon_model
from tacitd.plugin import TimedJob
from tacitd.plugins import FoundPlugins, find_plugins
from tacitd.sources.follow import Follower, WatcherFor
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.sessions import Sessions
from tacitd.sources.source import OwnCalls
from tacitd.sources.watch import WatchdogWatcher
from tacitd.state.paths import Paths
from tacitd.state.settings_in_force import replace_settings
from tacitd.state.socket_file import remove_socket_file, write_hook_script, write_socket_file
from tacitd.status import list_own_problems, make_note, read_status
from tacitd.store import Store
from tacitd.work.activities import activity_line, find_newest, list_since
from tacitd.work.inbox import Wake
from tacitd.work.plugin_tools import ToolServices
from tacitd.work.project_lookup import ProjectLookup
from tacitd.work.project_rows import list_aliases
from tacitd.work.reader import Reader
from tacitd.work.running_plugin import RunningPlugins
from tacitd.work.stored_problems import find_refusal as find_model_refusal
from tacitd.work.stored_problems import find_store_refusal, list_stored_problems
from tacitd.work.task_rows import ENGINE, NewTask, Pauses, insert_task
from tacitd.work.task_runner import THREADS, Runnable, TaskRunner
from tacitd.work.work_status import NoteWriter
from tacitd.work.write_modes import WriteModes

HOUSEKEEPING = 50.0
"""Seconds, within which a person's edit of a handler's file is found."""
OWN_JOBS = (TimedJob(SYNC_JOB, HOUSEKEEPING), TimedJob("housekeeping", HOUSEKEEPING))
COPIES = 0.2
"""Seconds for which a start waits for the disk of a project."""
GRACE = 11.0
"""Seconds for tasks when the daemon stops: longer than a model call gets, so that no child outlives it."""


class App:
    """All parts of a daemon. `close` ends it."""

    def __init__(
        self,
        paths: Paths,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        found: FoundPlugins | None = None,
        model: Callable[[Config, Budget], Model] | None = None,
        watcher_for: WatcherFor = WatchdogWatcher,
        pool: Executor | None = None,
        config: Config | None = None,
        editors: Editors | None = None,
        lock: Lock | None = None,
    ) -> None:
        """Take the lock, open the store, and build the parts. Nothing is watched or asked yet. `config`: what was read already.
        `editors`: those of the App before, which the caller closes. `lock`: that of the App before, which counts if it is held.
        Raises ConfigError, and UnavailableError if another daemon has the lock."""
        self.paths, self.environ = paths, environ
        self.clock, self.found = clock or SystemClock(), found or find_plugins()
        sections, broken = self.found.collect_sections(), bool(self.found.failed)
        self.config = config or load_config(paths.config_file, environ, sections, broken=broken)
        make_private_dir(paths.state_dir)
        with ExitStack() as undo:
            self.lock = lock if lock is not None and lock.is_held else acquire_lock(paths.state_dir / "lock")
            if lock is not None and lock is not self.lock:
                lock.release()
            undo.callback(self.lock.release)
            steps = {one.name: one.schema for one in self.found.plugins}
            self.store = Store.open(paths.state_dir, self.clock, steps)
            undo.callback(self.store.close)
            self._build(model, watcher_for, pool, editors)
            undo.pop_all()

    def _build(
        self,
        make_model: Callable[[Config, Budget], Model] | None,
        watcher_for: WatcherFor,
        pool: Executor | None,
        editors: Editors | None,
    ) -> None:
        paths, environ, store, clock = self.paths, self.environ, self.store, self.clock
        config, found = self.config, self.found
        self.stopping, wake = threading.Event(), Wake()
        self.asked_to_stop = threading.Event()
        """Set by whoever asks for the end; `close` sets `stopping` too, also where another App is to follow."""
        self.degraded = dict[str, Degradation]()
        self.outdated: Sequence[Degradation] = ()
        self.reloaded: Config | None = None
        """The configuration of the App that is to follow this one."""
        self.replaced = threading.Event()
        """Set when the App that follows this one answers."""
        self.is_displaced = False
        """Whether another process has the lock: the store is its own."""
        self._server: Server | None = None
        self._is_open = False
        self._settings_in = -1
        """`Store.generation` of the store that has the settings."""
        self._logged = 0
        """The number of the newest activity that was logged."""
        work, mode = make_private_dir(paths.state_dir / "model") / "work", config.projects.write
        self.budget = Budget(store, config.budget, clock)
        own_sessions = self.budget.list_sessions()
        source = make_source(paths.config_dir, OwnCalls(str(work), SENTINEL, own_sessions), environ)
        if make_model is not None:
            self.model = make_model(config, self.budget)
        else:
            about = clock, environ, work, self.stopping, own_sessions
            self.model = make_daemon_model(config, self.budget, *about)
        self.editors = editors or Editors(clock, stalls=Stalls(clock, threads=pool is None))
        self.stalls = self.editors.stalls
        # What a program writes late into an old file is looked for by the App that follows, too.
        self._end_editors = self.editors.close if editors is None else self.editors.check_old_files
        self.files = SharedFiles(store, clock, editors=self.editors)
        self.write_modes = WriteModes(paths.state_dir, clock, mode, store)
        self.projects = ProjectFinder(
            paths.home,
            excludes=config.projects.exclude,
            private=[paths.state_dir, paths.config_dir],
            is_off=lambda root: self.write_modes.get_mode(Project(root, False)) == "off",
            list_aliases=lambda: list_aliases(store.rows),
        )
        lookup = ProjectLookup(self.projects.find_project, clock, self.stalls)
        sessions = Sessions(clock, config.session.idle, source.read_claims, makes_claims=source.makes_claims)
        services = ToolServices(
            store,
            clock,
            paths.config_dir,
            self.files,
            self.model,
            self.budget,
            self.projects.find_project,
            self.write_modes.get_mode,
            lambda project: sessions.is_live_in(lambda cwd: lookup.is_in(cwd, project)),
            lambda task: find_model_refusal(store.rows, task.session, task.lane, clock.now()),
            found.collect_prompt_extensions(),
            config.list_directives(paths.home),
        )
        self.plugins = RunningPlugins(found.plugins, config, services, environ, self.degraded)
        self.runnables = {name: one.runnable for name, one in self.plugins.by_name.items()}
        self.runnables[ENGINE] = Runnable(partial(run_own_job, self))
        observers = self.plugins.observers
        runner = TaskRunner(
            store,
            self.runnables,
            clock,
            self.files,
            is_held=lambda task: self.engine.is_held(task),
            on_done=wake.note_end,
            pool=pool or ThreadPoolExecutor(THREADS, thread_name_prefix="task"),
            pauses=Pauses(config.dispatch.first_pause, config.dispatch.longest_pause),
        )
        self.note_writer = NoteWriter(store)
        self.engine = Engine(
            store,
            Follower(source, clock, watcher_for, wake.set),
            Reader(store, source, lookup, observers, clock, mode),
            sessions,
            runner,
            lookup,
            self.stalls,
            source,
            self.plugins,
            clock,
            wake,
            self.note_state,
            mode,
        )

    def open(self, since: float = math.inf) -> None:
        """Finish what a crash interrupted, watch and list the transcripts. `since`: as of `Engine.start`. Raises TacitdError."""
        self.budget.mark_lost()
        self._find_copies()
        self._logged = find_newest(self.store.rows)
        self._store_settings()
        self.engine.start(since)
        found = self.store.rows("SELECT plugin, name, succeeded FROM job")
        ran: dict[tuple[str, str], float] = {(plugin, name): at for plugin, name, at in found}
        jobs = [(ENGINE, own) for own in OWN_JOBS]
        jobs += [(name, job) for name, one in self.plugins.by_name.items() for job in one.spec.jobs]
        for plugin, job in jobs:
            self.engine.schedule.add_job(plugin, job, ran.get((plugin, job.name)))
        self._is_open = True
        self._write_own_files()
        keep_house(self)
        self.note_state()
        self.check_sources()

    def _find_copies(self) -> None:
        """Of all projects; a start waits only a moment for those whose disks do not answer."""
        by_root = defaultdict[str, set[Path]](set)
        sql = "SELECT f.path, coalesce(p.root, '') FROM shared_file f LEFT JOIN project p ON p.number = f.project"
        for path, root in self.store.rows(sql):
            by_root[root].add(Path(path).parent)
        self.editors.find_copies(sorted(by_root.pop("", ())))
        find = self.editors.find_copies
        self.stalls.ask_each(((root, partial(find, sorted(by_root[root]))) for root in by_root), COPIES)

    def check_sources(self) -> None:
        """Look for edits of shared files now, in a worker."""
        with self.store.write() as tx:
            insert_task(tx, NewTask(ENGINE, "", "job", SYNC_JOB), self.clock.now())
        self.engine.wake.set()

    def list_degradations(self) -> list[Degradation]:
        refusal = find_store_refusal(self.engine)
        found = [*([refusal] if refusal is not None else []), *list_own_problems(self)]
        return found + list_stored_problems(self.store.rows, self.plugins.by_name, self.clock.now())

    def read_status(self) -> dict[str, Any]:
        plugins, problem = self.found.plugins, find_store_refusal(self.engine)
        last = self.note_writer.last
        return read_status(
            self.store.rows, plugins, self.clock.now(), pid=os.getpid(), problem=problem, last=last
        )

    def note_state(self) -> None:
        """Store what only this process knows and `status` shows. Raises UnwritableError, StoreLostError."""
        if self._settings_in != self.store.generation:  # the store is a new one
            self._store_settings()
            self._write_own_files()  # the state directory may be a new one too
        self.note_writer.write(make_note(self))

    def _store_settings(self) -> None:
        generation = self.store.generation
        with self.store.write() as tx:
            replace_settings(tx, list_settings(self.config))
        self._settings_in = generation

    def _write_own_files(self) -> None:
        """Those by which the hooks and commands of another environment find this daemon."""
        with suppress(OSError):  # hooks only make it faster
            write_hook_script(self.paths.state_dir, self.engine.source.hook_program)
        if self._server is not None:
            write_socket_file(self.paths.state_dir, self._server.path)

    def run(self, on_iteration: Callable[[], None] = lambda: None, max_sleep: float = MAX_SLEEP) -> None:
        """Run until `request_stop`. `on_iteration` is called after each pass; the loop sleeps for `max_sleep` seconds at most."""

        def end_pass() -> None:
            with suppress(UnwritableError, StoreLostError):
                for one in list_since(self.store.rows, self._logged):
                    logger.info("{}", activity_line(one))
                    self._logged = one.number
            on_iteration()

        self.engine.run(end_pass, max_sleep, self._keep_lock)

    def _keep_lock(self) -> None:
        """Take the lock again if its file was deleted, as with the state directory. End if another process has it: each would put the
        other's store aside, again and again."""
        if self.asked_to_stop.is_set():
            return
        with suppress(OSError):
            if self.lock.is_held:
                return
            try:
                new = acquire_lock(self.lock.path)
            except UnavailableError as error:
                logger.error("this daemon ends: {}", error)
                self.is_displaced = True
                self.request_stop()
            else:
                self.lock.release()
                self.lock = new

    def request_stop(self) -> None:
        """Begin to stop, and kill the model's children. Any thread, also while the App is closed."""
        self.asked_to_stop.set()
        self.stopping.set()
        self.engine.stop()

    def request_reload(self, config: Config) -> None:
        """End the loop when no task runs, or in five minutes, so that an App with this configuration can follow. Any thread."""
        self.reloaded = config
        self.engine.leave()

    def close(self) -> None:
        """Stop everything and release the lock, unless another App is to follow: no process gets it in between. Commits are durable
        already."""
        self.stopping.set()
        own = not self.is_displaced
        steps: list[Callable[[], object]] = (
            [] if self._server is None else [partial(self._server.close, unlink=own)]
        )
        steps += [
            partial(self.engine.runner.stop, GRACE, partial(self.stalls.affects, patience=PATIENCE)),
            self.engine.follower.stop,
        ]
        steps += [self.model.reap_children] if isinstance(self.model, ModelHealth) else []
        steps += [self._end_editors]
        steps += [partial(save_budget, self)] if own else []
        steps += [self._note_last_state] if own and self._is_open else []
        steps += [self.store.close]
        steps += [] if self._server is None else [partial(remove_socket_file, self.paths.state_dir)]
        try:
            for step in steps:
                try:
                    step()
                except Exception as error:  # noqa: BLE001  the other steps must run
                    logger.opt(exception=error).error("closing: {} failed", step)
        finally:
            if self.reloaded is None or self.asked_to_stop.is_set():
                self.lock.release()

    def _note_last_state(self) -> None:
        with suppress(UnwritableError, StoreLostError):
            self.note_state()

    def listen(self, server: Server) -> None:
        """Answer calls until `close`. Raises UnavailableError, OSError."""
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
