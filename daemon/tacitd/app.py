"""The composition root: the one place that builds the parts and joins them. Nothing is decided here.

with build_app(paths, environ) as app:      # takes the lock, opens the logs, watches
    app.run()                               # until `request_stop`
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import partial
from pathlib import Path

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import Config, load_config
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.opening import make_consumers, open_consumer
from tacitd.consumers.rescue import RescueLog
from tacitd.control.server import Server
from tacitd.dispatch.activities import Activities, Activity, describe_call, describe_change, describe_commit
from tacitd.dispatch.backoff import Backoff
from tacitd.dispatch.costly_parts import CostlyParts
from tacitd.dispatch.dispatcher import Dispatcher
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.inbox import Inbox
from tacitd.dispatch.lag_counters import LagCounters
from tacitd.dispatch.lanes import Lanes
from tacitd.dispatch.messages import MessageRouter
from tacitd.dispatch.outcomes import Outcomes
from tacitd.dispatch.pauses import PausedScopes, Refusals
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.runner import HandlerRunner
from tacitd.dispatch.status_cache import StatusCache
from tacitd.dispatch.sync_waiters import SyncWaiters
from tacitd.dispatch.unhandled import UnhandledRecords
from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.dispatch.work_notes import WorkNotes
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.dispatch.workers import ThreadPool, WorkerPool
from tacitd.engine import MAX_SLEEP, Engine, EngineHost
from tacitd.errors import TacitdError
from tacitd.events import Project
from tacitd.files.busy_files import BusyFiles
from tacitd.files.follow_up import FollowUp
from tacitd.files.late_writes import LateWrites
from tacitd.files.locks import Lock, acquire_lock, make_private_dir
from tacitd.files.replaced import EditGuards, replace_file
from tacitd.files.transaction import History
from tacitd.files.transaction_records import Transaction
from tacitd.handler import Commit, Degradation, Plugin, Tools
from tacitd.model.answer_checks import SENTINEL
from tacitd.model.budget import Budget
from tacitd.model.health import ModelHealth
from tacitd.model.port import Model
from tacitd.model_factory import load_own_sessions, make_claude_factory
from tacitd.plugins import FoundPlugins, find_plugins
from tacitd.reload import check_refused, check_removed, note_removed
from tacitd.schedule import Schedule
from tacitd.sources.base import OwnCalls, Source
from tacitd.sources.follow import Follower, WatcherFor
from tacitd.sources.growth_breaker import GrowthBreaker
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.sessions import Sessions
from tacitd.sources.transcript import read_records
from tacitd.sources.watch import WatchdogWatcher
from tacitd.state.hook_files import write_hook_script
from tacitd.state.layout import StateLayout
from tacitd.state.paths import SOCKET_FILE, Paths
from tacitd.state.schema import check_schema
from tacitd.state.write_modes import WriteModes
from tacitd.status import list_app_degradations, write_snapshot
from tacitd.version_check import check_installed_version

SourceFor = Callable[[Path, OwnCalls], Source]
"""Makes the source, given the client's own directory and what identifies tacitd's own calls."""
WorkersFor = Callable[[str, int], WorkerPool]
A_DAY = 86400.0


@dataclass(slots=True)
class App:
    """All parts of a daemon. `build_app` makes one."""

    paths: Paths
    config: Config
    found: FoundPlugins
    clock: Clock
    make_engine: InitVar[Callable[[EngineHost], Engine]]
    model: Model
    budget: Budget
    history: History
    write_modes: WriteModes
    lock: Lock
    stopping: threading.Event
    projects: ProjectFinder
    environ: Mapping[str, str]
    late_writes: LateWrites
    guards: EditGuards
    follow_up: FollowUp
    activities: Activities
    tools: dict[str, Tools]
    degraded: dict[str, Degradation]
    set_log_level: Callable[[str], None]
    """Change the level of the log."""
    status_parts: CostlyParts
    outdated: Sequence[Degradation] = ()
    """Whether another version is installed than the running one. Checked each minute."""
    engine: Engine = field(init=False)
    _server: Server | None = None
    _is_open: bool = False

    def __post_init__(self, make_engine: Callable[[EngineHost], Engine]) -> None:
        self.engine = make_engine(self)

    def open(self) -> None:
        """Finish what a crash interrupted, open the handlers, watch and list the transcripts. Raises TacitdError."""
        for log, compact_log in (("history", self.history.compact_log), ("budget", self.budget.compact_log)):
            try:
                compact_log()
            except (OSError, TacitdError) as error:
                logger.warning("the {} log stays long: {}", log, error)
        self.history.recover()
        self.late_writes.find_copies(self.history.list_directories())
        earlier, since = list[Activity](), self.clock.now() - A_DAY
        for name, consumer in list(self.engine.consumers.items()):

            def note_commit(commit: Commit, plugin: Plugin = consumer.plugin) -> None:
                if commit.at >= since:
                    earlier.extend(describe_commit(plugin, commit))

            broken = open_consumer(consumer, self.tools[name], note_commit)
            if broken is not None:
                self.degraded[f"{broken.id}:{name}"] = broken
                del self.engine.consumers[name]
        changes = [one for one in self.history.list_transactions() if one.state == "done" and one.at >= since]
        self.activities.load(earlier, changes)
        self.engine.start()
        self.engine.dispatcher.messages.resend_unhandled(self.clock.now())
        for name, consumer in self.engine.consumers.items():
            for job in consumer.plugin.jobs:
                self.engine.schedule.add_job(name, job, consumer.last_job_runs.get(job.name))
        # The loop does not run yet, so this thread may wait.
        self.engine.dispatcher.outcomes.statuses.refresh(1.0)
        self._is_open = True
        self._write_hook_script()
        self.run_housekeeping()

    def _write_hook_script(self) -> None:
        """Keep the script for the client's hooks in the state directory, where the plugin of the client looks for it."""
        hooks = self.engine.source.hooks
        try:
            if hooks is not None:
                write_hook_script(self.paths.state_dir, hooks.program)
        except OSError as error:  # hooks only make it faster
            logger.warning("the script for hooks cannot be written: {}", error.strerror)

    def run_housekeeping(self) -> None:
        """Finish files that wait, check a refused configuration, save the budget, write the snapshot. Engine thread."""
        try:
            self.follow_up.run_once()
        except (OSError, TacitdError) as error:
            logger.warning("files that wait cannot be finished now: {}", error)
        check_refused(self)
        check_removed(self)
        self.outdated = check_installed_version()
        self._save_budget()
        if not self.stopping.is_set():  # its threads have ended then
            self.engine.dispatcher.outcomes.statuses.renew_all()
        write_snapshot(self)

    def list_host_degradations(self) -> Sequence[Degradation]:
        """What is wrong with handlers, and with the parts that the engine does not know. Engine thread."""
        return [*self.found.failed, *self.degraded.values(), *list_app_degradations(self)]

    def _save_budget(self) -> None:
        """Append what the budget could not write before. If it fails again, work that needs a model call is parked."""
        with suppress(OSError, TacitdError):
            self.budget.save_unwritten()

    def list_directives(self, config: Config) -> list[Path]:
        """The documents that apply to every project."""
        home = Path(self.paths.home)
        return [home / name[2:] if name.startswith("~/") else Path(name) for name in config.directives]

    def run(self, on_iteration: Callable[[], None] = lambda: None, max_sleep: float = MAX_SLEEP) -> None:
        """Run until `request_stop`. `on_iteration` is called after each pass of the engine's loop, which sleeps for
        `max_sleep` seconds at most."""
        self.follow_up.start()
        self.engine.run(on_iteration, max_sleep)

    def request_stop(self) -> None:
        """Begin to stop: kill the model's children, end the loop. Any thread."""
        self.stopping.set()
        self.engine.stop()

    def close(self) -> None:
        """Stop everything and release the lock. Commits are durable already."""
        self.stopping.set()
        steps: list[Callable[[], object]] = [] if self._server is None else [self._server.close]
        steps += [self.engine.dispatcher.stop, self.engine.follower.stop]
        steps += [self.model.reap_children] if isinstance(self.model, ModelHealth) else []
        steps += [
            self.follow_up.stop,
            self.late_writes.close,
            self._save_budget,
            self.engine.save_positions,
            self.engine.save_jobs,
            self.engine.dispatcher.outcomes.statuses.close,
        ]
        steps += [self.run_housekeeping] if self._is_open else []
        steps += [] if self._server is None else [self._remove_socket_file]
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

    def listen(self, server: Server) -> None:
        """Answer calls until `close`, and write the socket's path for commands with another environment.

        Raises UnavailableError, OSError.
        """
        self._server = server
        server.open()
        self._write_socket_file(server.path)

    def _write_socket_file(self, socket: Path) -> None:
        try:
            replace_file(self.paths.state_dir / SOCKET_FILE, f"{socket}\n".encode(), mode=0o600)
        except OSError as error:
            # Run without it: otherwise a service manager would restart the daemon for ever.
            logger.warning("{} cannot be written: {}", SOCKET_FILE, error.strerror)

    def _remove_socket_file(self) -> None:
        with suppress(OSError):
            (self.paths.state_dir / SOCKET_FILE).unlink(missing_ok=True)

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
    workers_for: WorkersFor = ThreadPool,
    source_for: SourceFor = make_source,
    set_log_level: Callable[[str], None] = lambda _: None,
) -> App:
    """Take the lock and build the parts. Nothing is watched, asked or written yet.

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
        check_schema(paths.state_dir)
        parts = _Outside(paths, environ, clock, found, watcher_for, workers_for, source_for, set_log_level)
        return _join_parts(parts, config, lock, model)
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
    workers_for: WorkersFor
    source_for: SourceFor
    set_log_level: Callable[[str], None]


def _join_parts(
    outside: _Outside, config: Config, lock: Lock, make_model: Callable[[Config, Budget], Model] | None
) -> App:
    """Build each part after the parts that it uses. No part is completed by a later assignment."""
    paths, environ, clock, found = outside.paths, outside.environ, outside.clock, outside.found
    layout, stopping, wake = StateLayout(paths.state_dir), threading.Event(), threading.Event()
    work = make_private_dir(paths.state_dir / "model") / "work"
    activities = Activities(clock.now)
    budget = Budget(
        layout.open_log("budget.jsonl", terminated=True),
        config.budget,
        clock,
        lambda call: activities.add("asked", *describe_call(call)),
    )
    own_sessions = load_own_sessions(layout, clock)
    source = outside.source_for(paths.config_dir, OwnCalls(str(work), SENTINEL, own_sessions))
    make_model = make_model or make_claude_factory(work, environ, clock, stopping, layout, own_sessions)
    model = make_model(config, budget)
    unfinished = threading.Event()
    late_writes = LateWrites(clock, on_kept=unfinished.set)
    busy_files = BusyFiles(clock)
    guards = EditGuards(late_writes, busy_files)
    write_modes = WriteModes(layout.open_log("projects.jsonl"), clock, config.projects.write)

    def is_off(root: Path) -> bool:
        return write_modes.get_mode(Project(root, False)) == "off"

    history = History(
        layout.open_log("history.jsonl"),
        clock,
        guards=guards,
        on_done=partial(_note_change, activities),
        on_busy=unfinished.set,
        is_local=lambda root: write_modes.get_mode(Project(root, False)) == "local",
    )
    follow_up = FollowUp(late_writes, history, lambda root: not is_off(root), unfinished)
    projects = ProjectFinder(
        paths.home,
        clock,
        excludes=config.projects.exclude,
        private=[paths.state_dir, paths.config_dir],
        is_off=is_off,
    )
    degraded, tools = dict[str, Degradation](), dict[str, Tools]()
    consumers, broken = make_consumers(found.plugins, layout.make_handler_dir, clock)
    degraded.update(broken)
    note_removed(degraded, config)
    sessions = Sessions(clock, config.session.idle, source.read_claims)
    pauses = PausedScopes(layout.open_log("paused.jsonl"), clock)
    breaker = GrowthBreaker(clock.monotonic, resumed=pauses.list_let_go(), on_open=pauses.let_go)
    inbox, in_flight, watched_files = Inbox(wake), InFlightPrompts(), WatchedFiles(consumers)
    lanes = Lanes(consumers, clock.monotonic)
    work_queue = WorkQueue(consumers, lanes, clock.monotonic, projects.find_project, in_flight)
    pool = TranscriptPool(consumers, source, work_queue.restart_transcript)
    messages = MessageRouter(consumers, projects.find_project, work_queue.post_event)
    notes = WorkNotes(consumers, projects.find_project, activities, clock)
    unhandled = UnhandledRecords(work_queue, pool, in_flight, projects.find_project, pauses)
    follower = Follower(source, clock, outside.watcher_for, wake.set)
    runner = HandlerRunner(
        tools,
        inbox.call_soon,
        route_messages=messages.route_messages,
        mark_discarded=budget.mark_discarded,
        workers_for=outside.workers_for,
    )
    dispatcher = Dispatcher(
        consumers=consumers,
        work_queue=work_queue,
        in_flight=in_flight,
        pool=pool,
        runner=runner,
        messages=messages,
        unhandled=unhandled,
        refusals=Refusals(pauses, breaker, sessions, projects.find_project, clock),
        watched_files=watched_files,
        outcomes=Outcomes(
            work_queue=work_queue,
            pool=pool,
            in_flight=in_flight,
            runner=runner,
            clock=clock,
            backoff=Backoff(config.dispatch.first_pause, config.dispatch.longest_pause),
            rescue=RescueLog(layout.open_log("rescue.jsonl"), clock),
            dead_letters=DeadLetters(layout.open_log("dead.jsonl"), clock.now),
            statuses=StatusCache(consumers, clock.now, clock.monotonic, outside.workers_for),
            notes=notes,
        ),
        project_of=projects.find_project,
        clock=clock,
    )
    app = App(
        paths=paths,
        config=config,
        found=found,
        clock=clock,
        make_engine=lambda host: Engine(
            clock=clock,
            follower=follower,
            pool=pool,
            sessions=sessions,
            breaker=breaker,
            project_of=projects.find_project,
            pauses=pauses,
            consumers=consumers,
            watched_files=watched_files,
            schedule=Schedule(clock),
            wake=wake,
            source=source,
            dispatcher=dispatcher,
            inbox=inbox,
            host=host,
            sync_waiters=SyncWaiters(unhandled, clock),
            lag=LagCounters(consumers, follower.stamps, source.is_subagent),
            notes=notes,
        ),
        model=model,
        budget=budget,
        history=history,
        write_modes=write_modes,
        lock=lock,
        stopping=stopping,
        projects=projects,
        environ=environ,
        late_writes=late_writes,
        guards=guards,
        follow_up=follow_up,
        activities=activities,
        tools=tools,
        degraded=degraded,
        set_log_level=outside.set_log_level,
        status_parts=CostlyParts(clock.monotonic),
    )
    tools |= {name: _make_tools(one.plugin, app, layout) for name, one in consumers.items()}
    return app


def _note_change(activities: Activities, done: Transaction) -> None:
    activities.follow_transaction(done)
    activities.add("changed", *describe_change(done))


def _make_tools(one: Plugin, app: App, layout: StateLayout) -> Tools:
    projects = app.projects

    def degrade(what: Degradation) -> None:
        app.degraded[f"{one.name} {what.id}"] = (
            what  # the key has its name: no handler clears the degradation of another
        )

    def clear(id: str) -> None:
        app.degraded.pop(f"{one.name} {id}", None)

    return Tools(
        clock=app.clock,
        model=app.model,
        history=app.history,
        settings={name: app.config.get_section(name) for name in one.settings},
        home=layout.make_handler_dir(one.name),
        project_of=projects.find_project,
        has_live_session=lambda project: app.engine.sessions.is_live_in(
            lambda cwd: projects.find_project(cwd) == project
        ),
        degrade=degrade,
        clear=clear,
        directives=app.list_directives(app.config),
        guards=app.guards,
        write=app.config.projects.write,
        write_mode_of=app.write_modes.get_mode,
        list_sessions=app.engine.source.list_sessions,
        list_positions=lambda: app.engine.consumers[one.name].list_positions(),
        read_records=lambda path, start, upto: app.engine.dispatcher.unhandled.drop_paused(
            read_records(app.engine.source, path, start, upto)
        ),
        read_tool_answers=app.engine.source.read_tool_answers,
        announce=partial(app.activities.announce, one.name),
        prompt_extensions=app.found.collect_prompt_extensions(),
        person_rules=app.found.collect_person_rules(),
        client_home=app.paths.config_dir,
        post=lambda event: app.engine.call_soon(
            lambda: app.engine.dispatcher.post_event(event, only=one.name)
        ),
    )
